# Characters of every width, alone and together, and at the end of a row.
stty -opost
printf 'plain | ❤ ⚠ ✔ ℹ ☝ ♂ 1 # ©|\r\n'
printf 'VS16  | ❤️ ⚠️ ✔️ ℹ️ ☝️ 1️⃣ #️⃣ ©️|\r\n'
printf 'VS15  | ⌚︎ ⚡︎ ☕︎|\r\n'
printf 'skin  | 👍🏻👍🏼👍🏽👍🏾👍🏿 ☝🏽 🤘🏿|\r\n'
printf 'flags | 🇩🇪🇫🇷🇯🇵🇺🇸 🇪 🏴󠁧󠁢󠁥󠁮󠁧󠁿|\r\n'
printf 'zwj   | 👨‍👩‍👧‍👦 👩🏽‍🚀 🏃‍♂️ ❤️‍🔥 👁️‍🗨️ 🏳️‍🌈 🧑‍🌾|\r\n'
printf 'marks | é ạ̈ ñ Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘|\r\n'
printf 'wide  | 漢字かな 한국어 ｆｕｌｌ ﾊﾝｶｸ|\r\n'
printf 'jamo  | 한글|\r\n'
printf 'indic | क्षि தமிழ் తెలుగు ไทย|\r\n'
printf 'right | עברית العربية|\r\n'
printf 'zero  | a​b‌c‍d⁠e﻿f­g|\r\n'
printf 'ambig | ¡§°±²· αβγ АБВ ─│ ①②③ ★☆|\r\n'
printf '%s' '0123456789012345678901234567890123456789012345678901234567890123456789012345678漢X'; printf '\r\n'
printf '%s' '012345678901234567890123456789012345678901234567890123456789012345678901234567漢X'; printf '\r\n'
printf '\e[?2027l2027 off | ❤️ 👍🏽 🇩🇪 👨‍👩‍👧|\e[?2027h\r\n'
printf done
exec cat >/dev/null
