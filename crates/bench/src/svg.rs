//! Bar charts as SVG: one bar a measurement, whiskers from its slowest to its fastest turn. Bars
//! without a label share the row of the bar above.

use std::fmt::Write;

/// A measurement to draw.
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

/// Colours that those who see few colours can tell apart (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];

/// The room for labels: so much, and for each character of the longest.
const LABEL_WIDTH: [f64; 2] = [20.0, 6.8];
const BAR_WIDTH: f64 = 520.0;
/// The height of a bar that has a row for itself, and of one that shares it.
const BAR_HEIGHTS: [f64; 2] = [17.0, 11.0];
/// Between two rows.
const GAP: f64 = 5.0;
const TOP: f64 = 64.0;

/// Draws the bars from top to bottom; `unit` is what their lengths mean.
pub fn bar_chart(title: &str, unit: &str, bars: &[Bar]) -> String {
    let mut groups: Vec<&str> = Vec::new();
    for bar in bars {
        if !groups.contains(&bar.group.as_str()) {
            groups.push(&bar.group);
        }
    }
    let longest = bars.iter().map(|bar| bar.value.max(bar.spread.1)).fold(0.0, f64::max);
    let tick = tick_step(longest);
    let full = (longest / tick).ceil().max(1.0) * tick;
    let longest_label = bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    let label_width = (LABEL_WIDTH[0] + LABEL_WIDTH[1] * longest_label as f64).ceil();
    let x = |value: f64| label_width + value / full * BAR_WIDTH;
    let rows: Vec<&[Bar]> = bars.chunk_by(|_, next| next.label.is_empty()).collect();
    let bottom = TOP + rows.iter().map(|row| row_height(row)).sum::<f64>();

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"15\">{}</text>\n",
        label_width + BAR_WIDTH + 80.0,
        bottom + 40.0,
        escaped(title)
    );
    for step in 0..=(full / tick).round() as usize {
        let value = step as f64 * tick;
        line(&mut svg, (x(value), TOP - 6.0), (x(value), bottom), "#dddddd");
        text(&mut svg, (x(value), bottom + 16.0), "middle", &format!("{value:.0$}", digits(tick)));
    }
    text(&mut svg, (x(full / 2.0), bottom + 33.0), "middle", unit);
    let mut legend_x = 12.0;
    for (index, group) in groups.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        _ = writeln!(
            svg,
            "<rect x=\"{legend_x}\" y=\"34\" width=\"11\" height=\"11\" fill=\"{colour}\"/>"
        );
        text(&mut svg, (legend_x + 16.0, 44.0), "start", group);
        legend_x += 40.0 + 7.0 * group.chars().count() as f64;
    }
    let mut top = TOP;
    for row in rows {
        let height = bar_height(row);
        let middle = top + (row_height(row) - GAP + 1.0) / 2.0;
        text(&mut svg, (label_width - 8.0, middle + 4.0), "end", &row[0].label);
        for (index, bar) in row.iter().enumerate() {
            let top = top + index as f64 * height;
            let middle = top + (height + 1.0) / 2.0;
            let group = groups.iter().position(|group| *group == bar.group).unwrap_or_default();
            let colour = COLOURS[group % COLOURS.len()];
            let width = x(bar.value) - label_width;
            _ = writeln!(
                svg,
                "<rect x=\"{label_width}\" y=\"{top}\" width=\"{width:.1}\" \
                 height=\"{height:.1}\" fill=\"{colour}\"/>"
            );
            line(&mut svg, (x(bar.spread.0), middle), (x(bar.spread.1), middle), "black");
            let end = x(bar.value.max(bar.spread.1)) + 6.0;
            text(&mut svg, (end, middle + 4.0), "start", &rounded(bar.value, full));
        }
        top += row_height(row);
    }
    svg.push_str("</svg>\n");
    svg
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
    use super::{Bar, bar_chart, tick_step};

    #[test]
    fn a_bar_ends_where_its_value_is() {
        let bar = Bar {
            label: "a < b".to_owned(),
            group: "g".to_owned(),
            value: 50.0,
            spread: (40.0, 100.0),
        };
        let svg = bar_chart("t", "GB/s", &[bar]);
        assert!(svg.contains("width=\"260.0\""), "half of the axis:\n{svg}");
        assert!(svg.contains("a &lt; b"));
    }

    #[test]
    fn ticks_are_round_and_labels_have_room() {
        let label = "10000 × 10000 ld 10001 10003 at 1, and then some";
        let spread = (0.9, 0.98);
        let bar = Bar { label: label.to_owned(), group: "g".to_owned(), value: 0.97, spread };
        let svg = bar_chart("t", "", &[bar]);
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
        let svg = bar_chart("t", "", &[bar("a", "x"), bar("", "y"), bar("b", "x")]);
        assert_eq!(svg.matches(">a</text>").count(), 1);
        assert_eq!(svg.matches("height=\"11.0\" fill=").count(), 2);
        assert_eq!(svg.matches("height=\"17.0\" fill=").count(), 1);
        assert!(svg.contains(">0.500<"));
    }

    #[test]
    fn ticks_are_few_and_round() {
        for (longest, step) in [(9.0, 1.0), (11.0, 2.0), (4150.0, 500.0), (0.3, 0.05)] {
            assert!((tick_step(longest) - step).abs() < 1e-12, "{longest}");
        }
    }
}
