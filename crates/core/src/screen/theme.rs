//! Theme: what the colours of a terminal look like. Themes are data; a program's own redefinitions outrank them.

use super::{Color, ColorName, View};

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// The colours that programs name without saying what they look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    pub name: &'static str,
    foreground: u32,
    background: u32,
    cursor: u32,
    /// The eight colours and their bright twins.
    named: [u32; 16],
}

impl Theme {
    /// The themes there are; the first is the default.
    pub const ALL: &'static [Self] = THEMES;

    /// The theme of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|theme| theme.name == name)
    }

    #[must_use]
    pub const fn foreground(&self) -> Rgb {
        rgb(self.foreground)
    }

    #[must_use]
    pub const fn background(&self) -> Rgb {
        rgb(self.background)
    }

    #[must_use]
    pub const fn cursor(&self) -> Rgb {
        rgb(self.cursor)
    }

    /// One of the 256.
    #[must_use]
    pub fn indexed(&self, index: u8) -> Rgb {
        let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
        match index {
            0..16 => rgb(self.named[usize::from(index)]),
            16..232 => [level((index - 16) / 36), level((index - 16) / 6 % 6), level((index - 16) % 6)],
            232.. => [8 + 10 * (index - 232); 3],
        }
    }
}

/// The colours of one screen: the theme's, but for those that the program redefined.
#[derive(Debug, Clone, Copy)]
pub struct Colours<'a> {
    pub theme: &'a Theme,
    pub view: &'a View<'a>,
}

impl Colours<'_> {
    #[must_use]
    pub fn foreground(&self) -> Rgb {
        self.view.redefined(ColorName::Foreground).unwrap_or_else(|| self.theme.foreground())
    }

    #[must_use]
    pub fn background(&self) -> Rgb {
        self.view.redefined(ColorName::Background).unwrap_or_else(|| self.theme.background())
    }

    #[must_use]
    pub fn cursor(&self) -> Rgb {
        self.view.redefined(ColorName::Cursor).unwrap_or_else(|| self.theme.cursor())
    }

    /// What a colour looks like, if it is not the default one.
    #[must_use]
    pub fn of(&self, color: Color) -> Option<Rgb> {
        match color {
            Color::Default => None,
            Color::Indexed(index) => Some(
                self.view.redefined(ColorName::Indexed(index)).unwrap_or_else(|| self.theme.indexed(index)),
            ),
            Color::Rgb(r, g, b) => Some([r, g, b]),
        }
    }
}

const fn rgb(packed: u32) -> Rgb {
    let [_, r, g, b] = packed.to_be_bytes();
    [r, g, b]
}

#[rustfmt::skip]
const THEMES: &[Theme] = &[
    Theme { name: "dark", foreground: 0xD6_DAE3, background: 0x14_161B, cursor: 0xD6_DAE3, named: [
        0x2A_2E37, 0xF0_6A6F, 0x7F_CC7A, 0xE6_BC62, 0x6C_A8F5, 0xC7_8BEA, 0x5E_C8CF, 0xC5_CAD6,
        0x6B_7385, 0xFF_8A8D, 0x9F_E59A, 0xFF_D888, 0x93_C2FF, 0xDD_ABFA, 0x85_E3E8, 0xF4_F6FA,
    ] },
    Theme { name: "light", foreground: 0x2B_2F38, background: 0xFB_FBFA, cursor: 0x2B_2F38, named: [
        0x2B_2F38, 0xC9_2F3D, 0x2C_8A3B, 0x9A_6700, 0x1F_62C9, 0x94_3BBF, 0x0B_7F8C, 0xB9_BEC8,
        0x6E_7583, 0xDE_4A56, 0x3B_A34C, 0xB5_7F0E, 0x3B_80E6, 0xAC_58D6, 0x1E_9AA8, 0xE7_E9ED,
    ] },
    Theme { name: "xterm", foreground: 0xE5_E5E5, background: 0x00_0000, cursor: 0xE5_E5E5, named: [
        0x00_0000, 0xCD_0000, 0x00_CD00, 0xCD_CD00, 0x00_00EE, 0xCD_00CD, 0x00_CDCD, 0xE5_E5E5,
        0x7F_7F7F, 0xFF_0000, 0x00_FF00, 0xFF_FF00, 0x5C_5CFF, 0xFF_00FF, 0x00_FFFF, 0xFF_FFFF,
    ] },
    Theme { name: "catppuccin", foreground: 0xCD_D6F4, background: 0x1E_1E2E, cursor: 0xF5_E0DC, named: [
        0x45_475A, 0xF3_8BA8, 0xA6_E3A1, 0xF9_E2AF, 0x89_B4FA, 0xF5_C2E7, 0x94_E2D5, 0xBA_C2DE,
        0x58_5B70, 0xF3_8BA8, 0xA6_E3A1, 0xF9_E2AF, 0x89_B4FA, 0xF5_C2E7, 0x94_E2D5, 0xA6_ADC8,
    ] },
    Theme { name: "dracula", foreground: 0xF8_F8F2, background: 0x28_2A36, cursor: 0xF8_F8F2, named: [
        0x21_222C, 0xFF_5555, 0x50_FA7B, 0xF1_FA8C, 0xBD_93F9, 0xFF_79C6, 0x8B_E9FD, 0xF8_F8F2,
        0x62_72A4, 0xFF_6E6E, 0x69_FF94, 0xFF_FFA5, 0xD6_ACFF, 0xFF_92DF, 0xA4_FFFF, 0xFF_FFFF,
    ] },
    Theme { name: "gruvbox", foreground: 0xEB_DBB2, background: 0x28_2828, cursor: 0xEB_DBB2, named: [
        0x28_2828, 0xCC_241D, 0x98_971A, 0xD7_9921, 0x45_8588, 0xB1_6286, 0x68_9D6A, 0xA8_9984,
        0x92_8374, 0xFB_4934, 0xB8_BB26, 0xFA_BD2F, 0x83_A598, 0xD3_869B, 0x8E_C07C, 0xEB_DBB2,
    ] },
    Theme { name: "nord", foreground: 0xD8_DEE9, background: 0x2E_3440, cursor: 0xD8_DEE9, named: [
        0x3B_4252, 0xBF_616A, 0xA3_BE8C, 0xEB_CB8B, 0x81_A1C1, 0xB4_8EAD, 0x88_C0D0, 0xE5_E9F0,
        0x4C_566A, 0xBF_616A, 0xA3_BE8C, 0xEB_CB8B, 0x81_A1C1, 0xB4_8EAD, 0x8F_BCBB, 0xEC_EFF4,
    ] },
    Theme { name: "one-dark", foreground: 0xAB_B2BF, background: 0x28_2C34, cursor: 0x52_8BFF, named: [
        0x28_2C34, 0xE0_6C75, 0x98_C379, 0xE5_C07B, 0x61_AFEF, 0xC6_78DD, 0x56_B6C2, 0xAB_B2BF,
        0x5C_6370, 0xE0_6C75, 0x98_C379, 0xE5_C07B, 0x61_AFEF, 0xC6_78DD, 0x56_B6C2, 0xFF_FFFF,
    ] },
    Theme { name: "solarized-dark", foreground: 0x83_9496, background: 0x00_2B36, cursor: 0x93_A1A1, named: [
        0x07_3642, 0xDC_322F, 0x85_9900, 0xB5_8900, 0x26_8BD2, 0xD3_3682, 0x2A_A198, 0xEE_E8D5,
        0x00_2B36, 0xCB_4B16, 0x58_6E75, 0x65_7B83, 0x83_9496, 0x6C_71C4, 0x93_A1A1, 0xFD_F6E3,
    ] },
    Theme { name: "solarized-light", foreground: 0x65_7B83, background: 0xFD_F6E3, cursor: 0x58_6E75, named: [
        0x07_3642, 0xDC_322F, 0x85_9900, 0xB5_8900, 0x26_8BD2, 0xD3_3682, 0x2A_A198, 0xEE_E8D5,
        0x00_2B36, 0xCB_4B16, 0x58_6E75, 0x65_7B83, 0x83_9496, 0x6C_71C4, 0x93_A1A1, 0xFD_F6E3,
    ] },
    Theme { name: "tokyo-night", foreground: 0xC0_CAF5, background: 0x1A_1B26, cursor: 0xC0_CAF5, named: [
        0x15_161E, 0xF7_768E, 0x9E_CE6A, 0xE0_AF68, 0x7A_A2F7, 0xBB_9AF7, 0x7D_CFFF, 0xA9_B1D6,
        0x41_4868, 0xF7_768E, 0x9E_CE6A, 0xE0_AF68, 0x7A_A2F7, 0xBB_9AF7, 0x7D_CFFF, 0xC0_CAF5,
    ] },
];
