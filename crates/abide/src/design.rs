//! How pictures and films should look, as it is typed, and where fonts are looked for that ours lack something of.

use std::path::PathBuf;

use abide_core::failure::{Code, Failure};
use abide_core::screen::Size;
use abide_core::screen::theme::Theme;
use abide_picture::Design;

use crate::environment::Variable;

/// As many shades as the eye tells apart at the edge of a letter, and so few that most pictures have a small palette.
const SHADES: u8 = 15;

/// The flags that say how a picture looks.
#[derive(Debug, clap::Args)]
pub(crate) struct Look {
    /// The colours of pictures, films and pages
    #[arg(long, value_name = "NAME", default_value = Theme::ALL[0].name, value_parser = crate::cmd::themes())]
    theme: String,
    /// How large letters are, in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 16, value_parser = clap::value_parser!(u16).range(6..=96))]
    font_size: u16,
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
        Theme::find(&self.theme).unwrap_or(&Theme::ALL[0])
    }

    /// What was typed, for screens of this size and a window with this title.
    ///
    /// # Errors
    /// If a picture would be too large to be drawn.
    pub(crate) fn design(&self, title: &str, size: Size) -> Result<Design, Failure> {
        let design = Design {
            theme: self.theme(),
            font_size: f32::from(self.font_size),
            padding: usize::from(self.padding.unwrap_or(self.font_size * 3 / 4)),
            window: self.window.then(|| title.to_owned()),
            cursor: !self.no_cursor,
            shades: SHADES,
            font_directories: font_directories(),
        };
        if design.measure(size).is_some() {
            return Ok(design);
        }
        let (Size { cols, rows }, letters) = (size, self.font_size);
        let too_large = format!(
            "a picture of {cols}x{rows} cells with letters of {letters} pixels is too large to be drawn"
        );
        Err(Failure::new(Code::Usage, too_large).hint("make the letters smaller, such as --font-size 8"))
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
