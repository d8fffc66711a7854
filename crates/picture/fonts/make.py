"""Cuts the shipped fonts out of the published ones; see README.md. Needs fonttools, pillow and pngquant."""

import io
import pathlib
import subprocess
import zlib

from fontTools.ttLib import TTFont
from PIL import Image

HERE = pathlib.Path(__file__).parent
FONTS = pathlib.Path("/usr/share/fonts/truetype")
JETBRAINS = FONTS / "jetbrains-mono"
DEJAVU = FONTS / "dejavu/DejaVuSansMono.ttf"
SYMBOLS = FONTS / "noto/NotoSansSymbols-Regular.ttf"
SYMBOLS_2 = FONTS / "noto/NotoSansSymbols2-Regular.ttf"
EMOJI = FONTS / "noto/NotoColorEmoji.ttf"

# The size of emoji in pixels, and how many colours each may have.
WIDTH, HEIGHT, COLOURS = 51, 48, 32


def span(first, last):
    return set(range(first, last + 1))


def characters(path):
    return set(TTFont(path).getBestCmap())


def cut(source, wanted, target, features=""):
    subprocess.run(
        [
            "pyftsubset",
            str(source),
            "--unicodes=" + ",".join(f"U+{code:X}" for code in sorted(wanted)),
            f"--layout-features={features}",
            "--no-hinting",
            "--notdef-outline",
            "--drop-tables+=FFTM,DSIG,meta,gasp,vhea,vmtx",
            "--name-IDs=0,1,2,3,4,5,6,13,14",
            f"--output-file={target}",
        ],
        check=True,
    )


def pack(source, wanted, name, features=""):
    target = HERE / name
    cut(source, wanted, target, features)
    (HERE / f"{name}.z").write_bytes(zlib.compress(target.read_bytes(), 9))
    target.unlink()


def shrink(glyph):
    picture = Image.open(io.BytesIO(glyph.imageData)).convert("RGBA").resize((WIDTH, HEIGHT), Image.LANCZOS)
    whole = io.BytesIO()
    picture.save(whole, "PNG")
    quant = ["pngquant", "--speed", "1", "--strip", str(COLOURS), "-"]
    return subprocess.run(quant, input=whole.getvalue(), capture_output=True, check=True).stdout


def emoji(wanted):
    target = HERE / "NotoColorEmoji.ttf"
    cut(EMOJI, wanted, target)
    font = TTFont(target)
    for strike, glyphs in zip(font["CBLC"].strikes, font["CBDT"].strikeData):
        table = strike.bitmapSizeTable
        scale = HEIGHT / 128
        table.ppemX = table.ppemY = round(table.ppemX * scale)
        for metrics in (table.hori, table.vert):
            for name in ("ascender", "descender", "widthMax"):
                setattr(metrics, name, round(getattr(metrics, name) * scale))
        for glyph in glyphs.values():
            glyph.imageData = shrink(glyph)
            glyph.metrics.width, glyph.metrics.height = WIDTH, HEIGHT
            for name in ("BearingX", "BearingY", "Advance"):
                if hasattr(glyph.metrics, name):
                    setattr(glyph.metrics, name, round(getattr(glyph.metrics, name) * scale))
    font.save(target)


def main():
    # Lines, blocks, braille, sextants and powerline are drawn by ourselves.
    drawn = span(0x2500, 0x259F) | span(0x2800, 0x28FF) | span(0x1FB00, 0x1FB3B) | span(0xE0B0, 0xE0BF)
    text = characters(JETBRAINS / "JetBrainsMono-Regular.ttf")
    for style in ("Regular", "Bold", "Italic", "BoldItalic"):
        name = f"JetBrainsMono-{style}.ttf"
        pack(JETBRAINS / name, text - drawn, name, "mark,mkmk,ccmp,locl")
    # Letters again, so that marks which the first face lacks have something to stand on.
    letters = span(0x20, 0x7E) | span(0x300, 0x36F)
    arabic = span(0x600, 0x6FF) | span(0xFB50, 0xFEFF)
    all_of = characters(DEJAVU)
    dejavu = (all_of - text - drawn - arabic) | (all_of & letters)
    pack(DEJAVU, dejavu, "DejaVuSansMono.ttf", "mark,mkmk,ccmp")
    more = span(0x2000, 0x2BFF) | span(0x1F650, 0x1F67F) | span(0x1F780, 0x1F7FF) | span(0x1FB3C, 0x1FBFF)
    second = (characters(SYMBOLS_2) - text - drawn - dejavu) & more
    pack(SYMBOLS_2, second, "NotoSansSymbols2.ttf")
    third = (characters(SYMBOLS) - text - drawn - dejavu - second) & span(0x2000, 0x2BFF)
    pack(SYMBOLS, third, "NotoSansSymbols.ttf")
    known = characters(EMOJI)
    symbols = (known & span(0x203C, 0x3299)) - span(0x2648, 0x2653)
    common = {ord(char) for char in (HERE / "emoji.txt").read_text() if not char.isspace()}
    emoji(symbols | (common & known))


main()
