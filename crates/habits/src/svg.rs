//! Bar charts as SVG: one bar a measurement, whiskers from its slowest to its fastest turn. Bars
//! without a label share the row of the bar above.

use crate::output;
use std::fmt::Write;

/// A chart: bars from top to bottom.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What was measured, with the shape.
    pub title: String,
    /// What the lengths of the bars mean.
    pub unit: &'static str,
    /// The bars.
    pub bars: Vec<Bar>,
    /// Where, and when.
    below: String,
}

/// A measurement to draw.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its name, left of the bar; empty for a bar that shares the row of the one before.
    pub label: String,
    /// What it belongs to: bars of one group have one colour.
    pub group: String,
    /// The length of the bar.
    pub value: f64,
    /// Where the whisker starts and ends.
    pub spread: (f64, f64),
}

impl Bar {
    /// A bar without a whisker.
    pub fn plain(label: impl Into<String>, group: impl Into<String>, value: f64) -> Self {
        Bar { label: label.into(), group: group.into(), value, spread: (value, value) }
    }
}

/// Colours that those who see few colours can tell apart (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];

/// How wide a character is, about, at the size of labels.
const CHARACTER_WIDTH: f64 = 7.3;
/// The room for labels beside the longest.
const LABEL_MARGIN: f64 = 20.0;
/// How much larger than a label the title is.
const TITLE_SIZE: f64 = 15.0 / 12.0;
const BAR_WIDTH: f64 = 520.0;
/// The height of a bar that has a row for itself, and of one that shares it.
const BAR_HEIGHTS: [f64; 2] = [17.0, 13.0];
/// Between two rows.
const GAP: f64 = 5.0;
/// Where the legend begins, and the height of each of its lines.
const LEGEND_TOP: f64 = 52.0;
const LEGEND_LINE: f64 = 17.0;

impl Chart {
    /// A chart of one title.
    pub fn new(title: impl Into<String>, unit: &'static str, bars: Vec<Bar>) -> Self {
        Chart { title: title.into(), unit, bars, below: String::new() }
    }

    /// The chart of something that was measured on a device today.
    pub fn on(self, device: &str) -> Self {
        Chart { below: format!("{device}, {}", output::today()), ..self }
    }

    /// The groups, in the order in which they come.
    fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for bar in &self.bars {
            if !groups.contains(&bar.group.as_str()) {
                groups.push(&bar.group);
            }
        }
        groups
    }

    /// Draws it.
    pub fn to_svg(&self) -> String {
        let longest = self.bars.iter().map(|bar| bar.value.max(bar.spread.1)).fold(0.0, f64::max);
        let tick = tick_step(longest);
        let full = (longest / tick).ceil().max(1.0) * tick;
        let label = self.bars.iter().map(|bar| text_width(&bar.label)).fold(0.0, f64::max);
        let left = (LABEL_MARGIN + label).ceil();
        let headings = [text_width(&self.title) * TITLE_SIZE, text_width(&self.below)];
        let width = (left + BAR_WIDTH + 80.0).max(headings[0].max(headings[1]) + 24.0);
        let legend = Legend::new(self.groups(), width);
        let top = LEGEND_TOP + legend.height() + 14.0;
        let rows: Vec<&[Bar]> = self.bars.chunk_by(|_, next| next.label.is_empty()).collect();
        let bottom = top + rows.iter().map(|row| row_height(row)).sum::<f64>();

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"12\" y=\"22\" font-size=\"15\">{}</text>\n\
             <text x=\"12\" y=\"40\" fill=\"#555555\">{}</text>\n",
            bottom + 40.0,
            escaped(&self.title),
            escaped(&self.below)
        );
        legend.draw(&mut svg);
        let x = |value: f64| left + value / full * BAR_WIDTH;
        for step in 0..=(full / tick).round() as usize {
            let value = step as f64 * tick;
            line(&mut svg, (x(value), top - 6.0), (x(value), bottom), "#dddddd");
            let value = format!("{value:.0$}", digits(tick));
            text(&mut svg, (x(step as f64 * tick), bottom + 16.0), "middle", &value);
        }
        text(&mut svg, (x(full / 2.0), bottom + 33.0), "middle", self.unit);
        let mut top = top;
        for row in rows {
            let middle = top + (row_height(row) - GAP + 1.0) / 2.0;
            text(&mut svg, (left - 8.0, middle + 4.0), "end", &row[0].label);
            for (index, bar) in row.iter().enumerate() {
                let height = bar_height(row);
                let top = top + index as f64 * height;
                let (width, colour) = (x(bar.value) - left, legend.colour(&bar.group));
                _ = writeln!(
                    svg,
                    "<rect x=\"{left}\" y=\"{top}\" width=\"{width:.1}\" \
                     height=\"{height:.1}\" fill=\"{colour}\"/>"
                );
                let middle = top + (height + 1.0) / 2.0;
                line(&mut svg, (x(bar.spread.0), middle), (x(bar.spread.1), middle), "black");
                let end = x(bar.value.max(bar.spread.1)) + 6.0;
                text(&mut svg, (end, middle + 4.0), "start", &rounded(bar.value, full));
            }
            top += row_height(row);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// What the colours mean: an entry for each group, in as many lines as they take.
struct Legend<'a> {
    /// Each group, and where its entry stands.
    entries: Vec<(&'a str, f64, f64)>,
}

impl<'a> Legend<'a> {
    fn new(groups: Vec<&'a str>, width: f64) -> Self {
        let (mut x, mut y) = (12.0, LEGEND_TOP);
        let mut entries = Vec::new();
        // A name that says nothing needs no colour explained.
        for group in groups.into_iter().filter(|group| !group.is_empty()) {
            let long = 36.0 + text_width(group);
            if x > 12.0 && x + long > width {
                (x, y) = (12.0, y + LEGEND_LINE);
            }
            entries.push((group, x, y));
            x += long;
        }
        Legend { entries }
    }

    fn height(&self) -> f64 {
        self.entries.last().map_or(0.0, |&(_, _, y)| y - LEGEND_TOP + LEGEND_LINE)
    }

    fn colour(&self, group: &str) -> &'static str {
        let index = self.entries.iter().position(|&(name, ..)| name == group).unwrap_or_default();
        COLOURS[index % COLOURS.len()]
    }

    fn draw(&self, svg: &mut String) {
        for &(group, x, y) in &self.entries {
            let colour = self.colour(group);
            _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"11\" height=\"11\" fill=\"{colour}\"/>"
            );
            text(svg, (x + 16.0, y + 10.0), "start", group);
        }
    }
}

/// How wide a text is, about, at the size of labels.
fn text_width(text: &str) -> f64 {
    CHARACTER_WIDTH * text.chars().count() as f64
}

fn bar_height(row: &[Bar]) -> f64 {
    BAR_HEIGHTS[usize::from(row.len() > 1)]
}

fn row_height(row: &[Bar]) -> f64 {
    row.len() as f64 * bar_height(row) + GAP
}

/// 1, 2 or 5 times a power of ten, so that there are at most ten ticks.
fn tick_step(longest: f64) -> f64 {
    let power = 10f64.powf((longest.max(1e-9) / 10.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps.into_iter().find(|step| longest / step <= 10.0).unwrap_or(steps[3])
}

/// The digits that multiples of `tick` need behind the point.
fn digits(tick: f64) -> usize {
    (-tick.log10().floor()).max(0.0) as usize
}

/// Three digits; `full` is the end of the axis, by which fractions are told from larger numbers.
fn rounded(value: f64, full: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        _ if full > 2.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    _ = writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, text: &str) {
    _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
        at.0,
        at.1,
        escaped(text)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Bar, CHARACTER_WIDTH, Chart, tick_step};

    #[test]
    fn a_bar_ends_where_its_value_is() {
        let bar = Bar {
            label: "a < b".to_owned(),
            group: "g".to_owned(),
            value: 50.0,
            spread: (40.0, 100.0),
        };
        let svg = Chart::new("t", "GB/s", vec![bar]).on("a device").to_svg();
        assert!(svg.contains("width=\"260.0\""), "half of the axis:\n{svg}");
        assert!(svg.contains("a &lt; b"));
        assert!(svg.contains(">a device, 20"), "where and when:\n{svg}");
    }

    #[test]
    fn ticks_are_round_and_labels_have_room() {
        let label = "10000 × 10000 ld 10001 10003 at 1, and then some";
        let spread = (0.9, 0.98);
        let bar = Bar { label: label.to_owned(), group: "g".to_owned(), value: 0.97, spread };
        let svg = Chart::new("t", "", vec![bar]).to_svg();
        for tick in ["0.0", "0.3", "0.6", "0.7", "1.0"] {
            assert!(svg.contains(&format!(">{tick}</text>")), "{tick}:\n{svg}");
        }
        let bar = svg.split("<rect x=\"").nth(2).and_then(|rest| rest.split('"').next()).unwrap();
        assert!(bar.parse::<f64>().unwrap() > 6.0 * label.chars().count() as f64, "{bar}");
    }

    #[test]
    fn bars_without_a_label_share_a_row() {
        let bar = |label: &str, group: &str| Bar {
            label: label.to_owned(),
            group: group.to_owned(),
            value: 0.5,
            spread: (0.5, 0.5),
        };
        let bars = vec![bar("a", "x"), bar("", "y"), bar("b", "x")];
        let svg = Chart::new("t", "", bars).to_svg();
        assert_eq!(svg.matches(">a</text>").count(), 1);
        assert_eq!(svg.matches("height=\"13.0\" fill=").count(), 2);
        assert_eq!(svg.matches("height=\"17.0\" fill=").count(), 1);
        assert!(svg.contains(">0.500<"));
    }

    #[test]
    fn groups_without_a_name_have_no_legend() {
        let svg = Chart::new("t", "µs", vec![Bar::plain("a", "", 1.0)]).to_svg();
        assert!(!svg.contains("width=\"11\""), "{svg}");
    }

    #[test]
    fn nothing_leaves_the_page() {
        let groups = (0..40).map(|n| Bar::plain(format!("bar {n}"), format!("group {n}"), 1.0));
        let svg = Chart::new("a title that is long. ".repeat(20), "", groups.collect()).to_svg();
        let view = svg.split("viewBox=\"0 0 ").nth(1).unwrap();
        let width: f64 = view.split(' ').next().unwrap().parse().unwrap();
        assert!(width > 20.0 * 22.0 * CHARACTER_WIDTH);
        for x in svg.split(" x=\"").skip(1) {
            let x: f64 = x.split('"').next().unwrap().parse().unwrap();
            assert!(x + CHARACTER_WIDTH * 8.0 < width, "{x} of {width}");
        }
    }

    #[test]
    fn ticks_are_few_and_round() {
        for (longest, step) in [(9.0, 1.0), (11.0, 2.0), (4150.0, 500.0), (0.3, 0.05)] {
            assert!((tick_step(longest) - step).abs() < 1e-12, "{longest}");
        }
    }
}
