//! The tables of the documents, from the figures in docs/results.
//!
//! A document says between two comments which table it wants, and `cargo xtask tables` writes it there:
//!
//! ```text
//! <!-- table docs/results/auto.csv
//! columns: element_bytes as bytes, shape, gb_s, gb_s / memcpy_gb_s as of memcpy
//! where: group = large & element_bytes = 4
//! -->
//! …
//! <!-- end of table -->
//! ```
//!
//! Without `columns` the table has all columns, without `where` all rows; a second `where` adds rows. A column is a
//! field or the quotient of two. With `count`, `lowest`, `median` or `highest` of such a column in place of a column, rows
//! that agree in all other columns become one. So a figure is written once, where it was measured.

use crate::paths;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- table ";
const END: &str = "<!-- end of table -->";

/// Writes every table of README.md and docs/. With `check` it writes nothing and fails if one would change.
pub fn tables(check: bool) -> Result<()> {
    let mut documents = vec![paths::root().join("README.md")];
    markdown_files(&paths::root().join("docs"), &mut documents)?;
    let mut stale = Vec::new();
    for path in documents {
        let old = fs::read_to_string(&path)?;
        let new = rendered(&old).with_context(|| path.display().to_string())?;
        if new == old {
            continue;
        }
        if !check {
            fs::write(&path, new)?;
        }
        stale.push(path.display().to_string());
    }
    ensure!(!check || stale.is_empty(), "not what `cargo xtask tables` writes: {stale:?}");
    stale.iter().for_each(|path| println!("wrote {path}"));
    Ok(())
}

fn markdown_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut paths =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            markdown_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(())
}

/// The document with all its tables made anew.
fn rendered(document: &str) -> Result<String> {
    let mut text = String::new();
    let mut rest = document;
    while let Some(begin) = rest.find(BEGIN) {
        let (before, marked) = rest.split_at(begin);
        let (request, _) =
            marked[BEGIN.len()..].split_once("-->").context("a comment without end")?;
        let end = marked.find(END).with_context(|| format!("no `{END}` after {request}"))?;
        let head = BEGIN.len() + request.len() + "-->".len();
        ensure!(head <= end, "a table begins before the last one ends: {request}");
        text += before;
        text += &marked[..head];
        text += "\n\n";
        text += &Request::parse(request)?.table().with_context(|| request.to_owned())?;
        text += "\n";
        text += END;
        rest = &marked[end + END.len()..];
    }
    Ok(text + rest)
}

/// Which table a document wants.
struct Request<'a> {
    file: &'a str,
    /// All columns of the file if empty.
    columns: Vec<Column<'a>>,
    /// The rows that fulfil all conditions of one of these; all rows if empty.
    wheres: Vec<Vec<(&'a str, &'a str)>>,
}

/// A column of a table: what it says, and its heading.
struct Column<'a> {
    value: Value<'a>,
    heading: &'a str,
}

#[derive(Clone, Copy)]
enum Value<'a> {
    Field(&'a str),
    Quotient(&'a str, &'a str),
    Count,
    Lowest(&'a str, &'a str),
    Median(&'a str, &'a str),
    Highest(&'a str, &'a str),
}

impl<'a> Request<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        let mut lines = text.lines();
        let file = lines.next().unwrap_or_default().trim();
        let mut request = Request { file, columns: Vec::new(), wheres: Vec::new() };
        for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
            match line.split_once(": ") {
                Some(("columns", columns)) => {
                    request.columns =
                        columns.split(", ").map(Column::parse).collect::<Result<_>>()?;
                }
                Some(("where", conditions)) => {
                    let condition =
                        |text: &'a str| text.split_once(" = ").context("a condition without =");
                    request
                        .wheres
                        .push(conditions.split(" & ").map(condition).collect::<Result<_>>()?);
                }
                _ => bail!("neither columns nor where: {line}"),
            }
        }
        Ok(request)
    }

    /// The table as Markdown.
    fn table(self) -> Result<String> {
        let path = paths::root().join(self.file);
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path)?;
        let headers = reader.headers()?.clone();
        let mut rows = Vec::new();
        for record in reader.records() {
            let row = Row { headers: &headers, record: record? };
            if self.wanted(&row)? {
                rows.push(row);
            }
        }
        let all = || headers.iter().map(Column::parse).collect::<Result<Vec<_>>>();
        let columns = if self.columns.is_empty() { all()? } else { self.columns };
        ensure!(!rows.is_empty(), "no row is like that");
        let mut text = line(columns.iter().map(|column| column.heading.to_owned()));
        text += &line(columns.iter().map(|_| "---".to_owned()));
        for group in groups(&columns, &rows)? {
            let cells = columns.iter().map(|column| column.value.of(&group));
            text += &line(cells.collect::<Result<Vec<_>>>()?);
        }
        Ok(text)
    }

    fn wanted(&self, row: &Row) -> Result<bool> {
        for conditions in &self.wheres {
            let mut all = true;
            for (field, value) in conditions {
                all &= row.get(field)? == *value;
            }
            if all {
                return Ok(true);
            }
        }
        Ok(self.wheres.is_empty())
    }
}

/// Each row by itself, or, if a column is about several, those together that agree in the other columns.
fn groups<'r>(columns: &[Column], rows: &'r [Row<'r>]) -> Result<Vec<Vec<&'r Row<'r>>>> {
    let fields: Vec<_> = columns.iter().filter(|column| column.value.is_of_one_row()).collect();
    if fields.len() == columns.len() {
        return Ok(rows.iter().map(|row| vec![row]).collect());
    }
    let mut groups: Vec<(Vec<String>, Vec<&Row>)> = Vec::new();
    for row in rows {
        let key = fields.iter().map(|column| column.value.of(&[row]));
        let key = key.collect::<Result<Vec<_>>>()?;
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    Ok(groups.into_iter().map(|(_, group)| group).collect())
}

impl<'a> Column<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        let (expression, heading) = text.split_once(" as ").unwrap_or((text, text));
        let quotient =
            |text: &'a str| text.split_once(" / ").context("not a quotient of two fields");
        let value = match expression.split_once(' ') {
            _ if expression == "count" => Value::Count,
            Some(("lowest", of)) => quotient(of).map(|(a, b)| Value::Lowest(a, b))?,
            Some(("median", of)) => quotient(of).map(|(a, b)| Value::Median(a, b))?,
            Some(("highest", of)) => quotient(of).map(|(a, b)| Value::Highest(a, b))?,
            _ => quotient(expression)
                .map_or(Value::Field(expression), |(a, b)| Value::Quotient(a, b)),
        };
        Ok(Column { value, heading })
    }
}

impl Value<'_> {
    fn is_of_one_row(self) -> bool {
        matches!(self, Value::Field(_) | Value::Quotient(..))
    }

    /// The cell of a group of rows.
    fn of(self, rows: &[&Row]) -> Result<String> {
        let (a, b) = match self {
            Value::Field(field) => return Ok(rows[0].get(field)?.to_owned()),
            Value::Count => return Ok(rows.len().to_string()),
            Value::Quotient(a, b)
            | Value::Lowest(a, b)
            | Value::Median(a, b)
            | Value::Highest(a, b) => (a, b),
        };
        let quotients = rows.iter().map(|row| row.quotient(a, b)).collect::<Result<Vec<_>>>()?;
        let mut quotients: Vec<_> = quotients.into_iter().flatten().collect();
        quotients.sort_by(f64::total_cmp);
        let value = match self {
            Value::Highest(..) => quotients.last().copied(),
            Value::Median(..) => median(&quotients),
            _ => quotients.first().copied(),
        };
        Ok(value.map_or(String::new(), |value| format!("{value:.3}")))
    }
}

/// The middle of numbers in ascending order, or what lies between the two in the middle.
fn median(ascending: &[f64]) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    Some((ascending[last / 2] + ascending[last.div_ceil(2)]) / 2.0)
}

/// A row of a file of figures.
struct Row<'h> {
    headers: &'h csv::StringRecord,
    record: csv::StringRecord,
}

impl Row<'_> {
    fn get(&self, field: &str) -> Result<&str> {
        let index = self.headers.iter().position(|header| header == field);
        let index = index.with_context(|| format!("there is no column {field:?}"))?;
        Ok(&self.record[index])
    }

    /// The quotient of two fields; `None` where one was not measured.
    fn quotient(&self, a: &str, b: &str) -> Result<Option<f64>> {
        let (a, b) = (self.get(a)?, self.get(b)?);
        if a.is_empty() || b.is_empty() {
            return Ok(None);
        }
        Ok(Some(a.parse::<f64>()? / b.parse::<f64>()?))
    }
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<_> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::{Request, rendered};

    /// What is committed is what the figures say, so a figure cannot be changed in one place only.
    #[test]
    fn the_documents_are_up_to_date() {
        super::tables(true).unwrap();
    }

    #[test]
    fn a_table_is_made_anew() {
        let document = "Before.\n<!-- table docs/results/classic-ladder.csv\ncolumns: strategy\nwhere: strategy = naive\n-->\n\
                        stale\n<!-- end of table -->\nAfter.\n";
        let new = rendered(document).unwrap();
        assert!(new.starts_with("Before.\n<!-- table "), "{new}");
        assert!(
            new.contains(
                "-->\n\n| strategy |\n| --- |\n| naive |\n\n<!-- end of table -->\nAfter.\n"
            ),
            "{new}"
        );
        assert_eq!(rendered(&new).unwrap(), new);
    }

    #[test]
    fn requests_that_say_nothing_are_refused() {
        let of = |request| Request::parse(request).and_then(Request::table);
        assert!(of("docs/results/none.csv").is_err());
        assert!(of("docs/results/classic-ladder.csv\ncolumns: speed").is_err());
        assert!(of("docs/results/classic-ladder.csv\nwhere: strategy = fast").is_err());
        assert!(of("docs/results/classic-ladder.csv\nrows: 3").is_err());
        assert!(of("docs/results/classic-ladder.csv\ncolumns: strategy, lowest gb_s").is_err());
        assert!(rendered("<!-- table docs/results/classic-ladder.csv -->").is_err());
    }
}
