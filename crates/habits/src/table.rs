//! What a program found, row by row: printed as a table while it goes on, and kept for files.
//!
//! A table is described once, by its columns, and its rows are cells that know what they are; the printed table, the CSV and the JSON
//! all come from that.

use crate::files::{self, Csv};
use crate::output;
use crate::program::Common;
use crate::svg::Chart;
use anyhow::{Result, ensure};
use comfy_table::{CellAlignment, ColumnConstraint, Width, presets};
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use transpose::Device;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name in files.
    pub key: &'static str,
    /// Its name in the printed table, with the unit; empty if it is in files only.
    pub heading: &'static str,
    /// Characters that it has at least, as rows are printed before later ones are known.
    width: u16,
    alignment: CellAlignment,
}

impl Column {
    /// A column of names.
    pub const fn text(key: &'static str, heading: &'static str, width: u16) -> Self {
        Column { key, heading, width, alignment: CellAlignment::Left }
    }

    /// A column of numbers.
    pub const fn number(key: &'static str, heading: &'static str, width: u16) -> Self {
        Column { key, heading, width, alignment: CellAlignment::Right }
    }

    /// A column of files only.
    pub const fn unseen(key: &'static str) -> Self {
        Column::text(key, "", 0)
    }
}

/// What stands in a column of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A name.
    Text(String),
    /// A count.
    Count(u64),
    /// A measured number, with so many digits behind the point in the table and in files.
    Number(f64, usize, usize),
    /// A figure that means nothing here.
    Nothing,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Cell::Count(count as u64)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Cell::Count(count)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Cell::Nothing, Into::into)
    }
}

impl Cell {
    /// A speed in GB/s or a number like it.
    pub fn speed(value: impl Into<Option<f64>>) -> Self {
        value.into().map_or(Cell::Nothing, |value| Cell::Number(value, 1, 1))
    }

    /// A fraction of about 1.
    pub fn fraction(value: impl Into<Option<f64>>) -> Self {
        value.into().map_or(Cell::Nothing, |value| Cell::Number(value, 3, 4))
    }

    /// As it is printed.
    fn shown(&self) -> String {
        match self {
            Cell::Text(text) if text.is_empty() => "–".to_owned(),
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number(value, digits, _) => format!("{value:.digits$}"),
            Cell::Nothing => "–".to_owned(),
        }
    }

    /// As it stands in a file of CSV.
    pub fn kept(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number(value, _, digits) => format!("{value:.digits$}"),
            Cell::Nothing => String::new(),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Cell::Text(text) => json!(text),
            Cell::Count(count) => json!(count),
            Cell::Number(..) => json!(self.kept().parse::<f64>().ok()),
            Cell::Nothing => Value::Null,
        }
    }
}

/// A table that is being found.
pub struct Report<'a> {
    common: &'a Common,
    device: String,
    title: String,
    columns: &'a [Column],
    rows: Vec<Vec<Cell>>,
    /// Whether the headings stand above the next row.
    is_open: bool,
    /// Lines that are printed before the next row, if there is one.
    above: Vec<String>,
    left_out: Vec<String>,
    bar: ProgressBar,
    /// Why standard output takes no more.
    lost: Option<anyhow::Error>,
    /// The file of CSV, if one was asked for, from the first row on; or why it cannot be written.
    csv: Option<Result<Csv>>,
}

impl<'a> Report<'a> {
    /// A table without rows. Rows are printed beside the bar, which goes on.
    pub fn new(
        common: &'a Common,
        device: &Device,
        title: impl Into<String>,
        columns: &'a [Column],
        bar: &ProgressBar,
    ) -> Self {
        let (device, title, bar) = (device.to_string(), title.into(), bar.clone());
        let mut report = Report {
            common,
            device,
            title,
            columns,
            rows: vec![],
            is_open: false,
            above: vec![],
            left_out: vec![],
            bar,
            lost: None,
            csv: None,
        };
        report.note(&report.title.clone());
        report
    }

    /// Prints a line before the next row, and the headings again.
    pub fn note(&mut self, line: &str) {
        self.is_open = false;
        self.above.push(line.to_owned());
    }

    /// Prints lines unless standard output is for something else.
    fn print(&mut self, lines: &str) {
        if self.common.prints_tables() && self.lost.is_none() {
            self.lost = self.bar.suspend(|| output::print(lines)).err();
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.show(&cells);
        self.keep(cells);
    }

    /// Prints a row that the files have already.
    pub fn show(&mut self, cells: &[Cell]) {
        if !std::mem::replace(&mut self.is_open, true) {
            std::mem::take(&mut self.above).iter().for_each(|line| self.print(line));
            let headings = self.columns.iter().map(|column| column.heading.to_owned());
            self.print(&line(self.columns, headings.collect()));
        }
        self.print(&line(self.columns, cells.iter().map(Cell::shown).collect()));
    }

    /// Adds a row to the files alone; that of CSV has it at once.
    pub fn keep(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        if let Some(path) = &self.common.csv {
            let header = self.columns.iter().map(|column| column.key.to_owned());
            let csv = self.csv.get_or_insert_with(|| Csv::create(path, header));
            let written = csv.as_mut().ok().map(|csv| csv.record(cells.iter().map(Cell::kept)));
            if let Some(Err(error)) = written {
                *csv = Err(error);
            }
        }
        self.rows.push(cells);
    }

    /// Prints a line below the last row.
    pub fn below(&mut self, line: &str) {
        self.print(line);
    }

    /// Says below the table that something has no row, and why.
    pub fn leave_out(&mut self, what: impl std::fmt::Display) {
        self.left_out.push(what.to_string());
    }

    /// Writes what was asked for.
    ///
    /// # Errors
    /// A table without rows, a chart without bars, standard output that took no more, and what the file system reports.
    pub fn finish(mut self, chart: impl FnOnce() -> Chart) -> Result<()> {
        self.bar.finish_and_clear();
        ensure!(
            !self.rows.is_empty() || !self.left_out.is_empty(),
            "there is nothing to show: nothing was to be done"
        );
        ensure!(
            !self.rows.is_empty(),
            "there is nothing to show\n  left out: {}",
            self.left_out.join("\n  left out: ")
        );
        for what in self.left_out.clone() {
            self.print(&format!("left out: {what}"));
        }
        if let Some(lost) = self.lost {
            return Err(lost);
        }
        if self.common.json {
            output::print(format_args!("{:#}", self.to_json()))?;
        }
        if let Some(csv) = self.csv {
            csv?.finish(self.common);
        }
        if let Some(path) = &self.common.svg {
            let chart = chart();
            ensure!(!chart.bars.is_empty(), "{}: there is nothing to draw", path.display());
            let svg = chart.on(&self.device).to_svg();
            files::write(self.common, path, svg.as_bytes())?;
        }
        Ok(())
    }

    /// The table for programs to read: the keys are those of the CSV.
    fn to_json(&self) -> Value {
        let row = |cells: &Vec<Cell>| {
            let entries = self.columns.iter().zip(cells);
            entries
                .map(|(column, cell)| (column.key.to_owned(), cell.to_json()))
                .collect::<Map<_, _>>()
        };
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        json!({
            "title": self.title,
            "device": self.device,
            "date": output::today(),
            "rows": rows,
            "left_out": self.left_out,
        })
    }
}

/// A line of a printed table: its columns have at least the widths that they ask for.
pub fn line(columns: &[Column], cells: Vec<String>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(presets::NOTHING);
    let shown = columns.iter().zip(cells).filter(|(column, _)| !column.heading.is_empty());
    table.add_row(shown.clone().map(|(_, cell)| cell));
    for (printed, (column, _)) in table.column_iter_mut().zip(shown) {
        let lines = column.heading.lines().map(|line| line.chars().count() as u16);
        let width = column.width.max(lines.max().unwrap_or(0));
        printed.set_padding((0, 2)).set_cell_alignment(column.alignment);
        printed.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width + 2)));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Cell, Column, line};

    #[test]
    fn names_stand_left_and_numbers_right() {
        let columns = [
            Column::text("a", "name", 6),
            Column::unseen("b"),
            Column::number("c", "GB/s\nof it", 0),
        ];
        let of = |cells: [&str; 3]| line(&columns, cells.map(str::to_owned).to_vec());
        assert_eq!(of(["x", "unseen", "1.5"]), "x         1.5");
        assert_eq!(of(["name", "b", "GB/s\nof it"]), "name     GB/s\n        of it");
        assert_eq!(of(["longer than that", "", "–"]), "longer than that      –");
    }

    #[test]
    fn cells_are_shown_and_kept() {
        let both = |cell: Cell| (cell.shown(), cell.kept(), cell.to_json().to_string());
        let all = |shown: &str, kept: &str, json: &str| (shown.into(), kept.into(), json.into());
        assert_eq!(both(Cell::speed(1234.56)), all("1234.6", "1234.6", "1234.6"));
        assert_eq!(both(Cell::fraction(0.98765)), all("0.988", "0.9877", "0.9877"));
        assert_eq!(both(Cell::fraction(None)), all("–", "", "null"));
        assert_eq!(both(7usize.into()), all("7", "7", "7"));
        assert_eq!(both("a, \"b\"".into()), all("a, \"b\"", "a, \"b\"", "\"a, \\\"b\\\"\""));
    }
}
