//! Has ffmpeg decode a film of ours and compares each picture with what was painted: `just video-check`.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Cursor};
use std::process::Command;
use std::time::Duration;

use abide_core::screen::theme::Theme;
use abide_core::screen::{Screen, Size};
use abide_picture::{Canvas, Design, Film, Painter, VideoFilm};

/// What a picture must reach, in decibels; at 40 the eye sees no difference.
const LEAST: f64 = 40.0;

fn design() -> Design {
    Design {
        theme: &Theme::ALL[0],
        font_size: 16.0,
        padding: 12,
        window: None,
        cursor: true,
        shades: 31,
        font_directories: Vec::new(),
    }
}

/// Typing, colours, scrolling both ways, clearing and full repaints, for long enough that an error would add up.
fn script() -> Vec<String> {
    let mut steps: Vec<String> = "a film of a terminal".chars().map(String::from).collect();
    for line in 0..120 {
        steps.push(format!(
            "\r\n\x1b[3{}mline {line}\x1b[0m of the log, \x1b[7mwith\x1b[0m └─ boxes ─┘",
            line % 8
        ));
    }
    steps.extend((0..20).map(|_| "\x1b[H\x1bMa line comes in from above".to_owned()));
    for page in 0..30 {
        let rows = (0..30).map(|row| {
            format!("\x1b[{};1H\x1b[48;5;{}m{page:>5} {row:>5}", row + 1, 16 + (page * 7 + row) % 200)
        });
        steps.push(rows.collect::<String>() + "\x1b[0m");
    }
    steps.push("\x1b[2J\x1b[Hdone".to_owned());
    steps
}

/// How near two pictures are in brightness.
fn decibels(canvas: &Canvas, decoded: &[u8]) -> f64 {
    let brightness =
        |[r, g, b]: [u8; 3]| 0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b);
    let pixels = (0..canvas.height()).flat_map(|y| (0..canvas.width()).map(move |x| (x, y)));
    let errors = pixels.zip(decoded.chunks_exact(3)).map(|((x, y), pixel)| {
        let far = brightness(canvas.rgb(x, y)) - brightness([pixel[0], pixel[1], pixel[2]]);
        far * far
    });
    let mean = errors.sum::<f64>() / (canvas.width() * canvas.height()) as f64;
    10.0 * (255.0 * 255.0 / mean.max(1e-9)).log10()
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("abide-video-check-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("film.mp4");
    let checked = check(&path);
    std::fs::remove_dir_all(&folder)?;
    checked
}

#[expect(clippy::print_stdout, reason = "what it found is what it is for")]
fn check(path: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let size = Size { cols: 100, rows: 30 };
    let mut screen = Screen::new(size, 0);
    let mut painter = Painter::new(design(), size);
    let out = BufWriter::new(File::create(path)?);
    let mut film = Box::new(VideoFilm::new(out, Cursor::new(Vec::new()), design(), size));
    let (mut at, mut painted) = (Duration::ZERO, Vec::new());
    for step in script() {
        let _ = screen.feed(step.as_bytes());
        film.show(at, &screen.view())?;
        painter.paint(&screen.view());
        painted.push(painter.canvas().clone());
        at += Duration::from_millis(100);
    }
    film.finish(at)?;
    let format = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-fps_mode", "passthrough", "-"];
    let ffmpeg = Command::new("ffmpeg").args(["-v", "error", "-i"]).arg(path).args(format).output()?;
    let complaints = String::from_utf8_lossy(&ffmpeg.stderr).into_owned();
    if !ffmpeg.status.success() || !complaints.is_empty() {
        return Err(format!("ffmpeg: {complaints}").into());
    }
    let bytes = 3 * painted[0].width() * painted[0].height();
    let decoded: Vec<&[u8]> = ffmpeg.stdout.chunks_exact(bytes).collect();
    if decoded.len() != painted.len() {
        return Err(format!("{} pictures were painted, {} decoded", painted.len(), decoded.len()).into());
    }
    let all: Vec<f64> =
        painted.iter().zip(decoded).map(|(canvas, decoded)| decibels(canvas, decoded)).collect();
    let worst = all.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    println!(
        "{} pictures, {mean:.1} dB on average, {worst:.1} dB at least, {} bytes",
        all.len(),
        std::fs::metadata(path)?.len()
    );
    if worst < LEAST { Err(format!("a picture has only {worst:.1} dB").into()) } else { Ok(()) }
}
