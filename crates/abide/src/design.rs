//! How pictures and films should look, as it is typed, and where fonts are looked for that ours lack something of.

use std::path::PathBuf;

use abide_core::failure::{Code, Failure};
use abide_core::screen::Size;
use abide_core::screen::theme::Theme;
use abide_picture::Design;

use crate::environment::Variable;

/// As many shades as the eye tells apart at the edge of a letter, and so few that most pictures have a small palette.
const SHADES: u8 = 15;

/// How large letters are, in pixels, unless it is said, and the smallest that may be asked for.
const LETTERS: u16 = 16;
const SMALLEST: i64 = 6;

/// The flags that say how a picture looks.
#[derive(Debug, clap::Args)]
pub(crate) struct Look {
    /// The colours of pictures, films and pages [default: dark]
    #[arg(long, value_name = "NAME", value_parser = crate::cmd::themes())]
    theme: Option<String>,
    /// How large letters are, in pixels [default: 16]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u16).range(SMALLEST..=96))]
    font_size: Option<u16>,
    /// Between the text and the edge, in pixels [default: three quarters of the font size]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u16).range(0..=500))]
    padding: Option<u16>,
    /// With the frame of a window around it
    #[arg(long)]
    window: bool,
    /// Without the cursor
    #[arg(long)]
    no_cursor: bool,
}

impl Look {
    /// The theme that was named.
    pub(crate) fn theme(&self) -> &'static Theme {
        self.theme.as_deref().and_then(Theme::find).unwrap_or(&Theme::ALL[0])
    }

    /// Which of its flags were given, the theme among them or not.
    pub(crate) fn given(&self) -> [(&'static str, bool); 5] {
        [
            ("--theme", self.theme.is_some()),
            ("--font-size", self.font_size.is_some()),
            ("--padding", self.padding.is_some()),
            ("--window", self.window),
            ("--no-cursor", self.no_cursor),
        ]
    }

    /// What was typed, for screens of this size and a window with this title.
    ///
    /// # Errors
    /// If a picture would be too large to be drawn.
    pub(crate) fn design(&self, title: &str, size: Size) -> Result<Design, Failure> {
        let letters = self.font_size.unwrap_or(LETTERS);
        let design = |letters: u16| Design {
            theme: self.theme(),
            font_size: f32::from(letters),
            padding: usize::from(self.padding.unwrap_or(letters * 3 / 4)),
            window: self.window.then(|| title.to_owned()),
            cursor: !self.no_cursor,
            shades: SHADES,
            font_directories: font_directories(),
        };
        let fits = |letters: u16| design(letters).measure(size).is_some();
        if fits(letters) {
            return Ok(design(letters));
        }
        let Size { cols, rows } = size;
        let too_large = format!(
            "a picture of {cols}x{rows} cells with letters of {letters} pixels is too large to be drawn"
        );
        let largest = (SMALLEST as u16..letters).rev().find(|smaller| fits(*smaller));
        let way_out = match largest {
            Some(smaller) => format!("make the letters smaller: --font-size {smaller} is small enough"),
            None => "no letters are small enough: `abide snapshot --format html` shows any screen".to_owned(),
        };
        Err(Failure::new(Code::Usage, too_large).hint(way_out))
    }
}

/// Where systems keep fonts: the user's own first.
fn font_directories() -> Vec<PathBuf> {
    let home = Variable::UserHome.absolute_path();
    let own = Variable::DataHome
        .absolute_path()
        .or_else(|| home.as_ref().map(|home| home.join(".local/share")))
        .map(|data| data.join("fonts"));
    let of_home = home.into_iter().flat_map(|home| [home.join(".fonts"), home.join("Library/Fonts")]);
    let shared = Variable::DataDirs.value().unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    let shared: Vec<PathBuf> = std::env::split_paths(&shared).map(|data| data.join("fonts")).collect();
    let of_macos = ["/Library/Fonts", "/System/Library/Fonts"].map(PathBuf::from);
    own.into_iter().chain(of_home).chain(shared).chain(of_macos).collect()
}
