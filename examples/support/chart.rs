//! Bars, as SVG.

/// A chart of horizontal bars: rows of one bar a series, from 0 to 1.
pub struct Chart {
    title: String,
    series: Vec<String>,
    rows: Vec<(String, Vec<Option<f64>>)>,
}

/// The colours of the series.
const COLOURS: [&str; 4] = ["#2a6fbb", "#d1873f", "#5a9e5a", "#8a6fb0"];

const LABEL_WIDTH: f64 = 250.0;
const BAR_WIDTH: f64 = 520.0;
const BAR_HEIGHT: f64 = 10.0;
const TOP: f64 = 56.0;

impl Chart {
    /// An empty chart.
    pub fn new(title: &str, series: &[&str]) -> Self {
        let series = series.iter().map(|name| (*name).to_owned()).collect();
        Chart { title: title.to_owned(), series, rows: Vec::new() }
    }

    /// Adds a row; a value that is not there leaves a gap.
    pub fn row(&mut self, label: String, values: &[Option<f64>]) {
        self.rows.push((label, values.to_vec()));
    }

    /// The picture.
    pub fn svg(&self) -> String {
        let row_height = BAR_HEIGHT * self.series.len() as f64 + 8.0;
        let height = TOP + row_height * self.rows.len() as f64 + 10.0;
        let width = LABEL_WIDTH + BAR_WIDTH + 70.0;
        let mut svg = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' \
             font-family='sans-serif' font-size='11'>\n\
             <rect width='100%' height='100%' fill='white'/>\n\
             <text x='10' y='20' font-size='15'>{}</text>\n",
            escape(&self.title)
        );
        for (index, name) in self.series.iter().enumerate() {
            let x = LABEL_WIDTH + 130.0 * index as f64;
            let colour = COLOURS[index % COLOURS.len()];
            svg += &format!(
                "<rect x='{x}' y='30' width='10' height='10' fill='{colour}'/>\
                 <text x='{}' y='39'>{}</text>\n",
                x + 15.0,
                escape(name)
            );
        }
        for quarter in 0..=4 {
            let x = LABEL_WIDTH + BAR_WIDTH * f64::from(quarter) / 4.0;
            svg += &format!(
                "<line x1='{x}' x2='{x}' y1='{}' y2='{}' stroke='#ccc'/>\n",
                TOP - 6.0,
                height - 8.0
            );
        }
        for (index, (label, values)) in self.rows.iter().enumerate() {
            svg += &Self::bars(label, values, TOP + row_height * index as f64, row_height);
        }
        svg + "</svg>\n"
    }

    fn bars(label: &str, values: &[Option<f64>], top: f64, row_height: f64) -> String {
        let mut svg = format!(
            "<text x='{}' y='{}' text-anchor='end'>{}</text>\n",
            LABEL_WIDTH - 8.0,
            top + row_height / 2.0,
            escape(label)
        );
        for (index, value) in values.iter().enumerate() {
            if let Some(value) = value {
                let y = top + BAR_HEIGHT * index as f64;
                let width = BAR_WIDTH * value.clamp(0.0, 1.1);
                svg += &format!(
                    "<rect x='{LABEL_WIDTH}' y='{y}' width='{width:.1}' height='{}' fill='{}'/>\
                     <text x='{:.1}' y='{}' font-size='9'>{value:.3}</text>\n",
                    BAR_HEIGHT - 1.0,
                    COLOURS[index % COLOURS.len()],
                    LABEL_WIDTH + width + 4.0,
                    y + BAR_HEIGHT - 2.0
                );
            }
        }
        svg
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::Chart;

    #[test]
    fn a_missing_value_draws_no_bar() {
        let mut chart = Chart::new("a < b", &["x", "y"]);
        chart.row("first".to_owned(), &[Some(0.5), None]);
        let svg = chart.svg();
        assert!(svg.contains("a &lt; b") && svg.contains(">0.500<"));
        assert_eq!(svg.matches("<rect").count(), 1 + 2 + 1);
    }
}
