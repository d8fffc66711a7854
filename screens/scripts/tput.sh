# Everything that terminfo knows of a terminal.
t() { tput "$@"; }
t clear; t csr 3 18; t cup 3 0
for i in $(seq 1 30); do t setaf $((i%16)); t setab $(((i*7)%256)); printf 'line %2d ' $i; t el; t op; printf '\n'; done
t csr 0 23
t cup 0 0; t smacs; printf 'lqqqqkxxmqqj`afgijklmnopqrstuvwxyz{|}~'; t rmacs
t cup 1 5; t bold; printf bold; t sgr0; t dim; printf dim; t sgr0; t sitm; printf italic; t ritm; t smul; printf under; t rmul; t rev; printf rev; t smso; printf so; t rmso; t sgr0; t blink; printf blink; t sgr0; t invis; printf invis; t sgr0
t cup 5 10; t ich 4; t cup 6 10; t dch 4; t cup 7 10; t ech 4; t cup 8 0; t il 2; t cup 12 0; t dl 1
t cup 14 20; t el1; t cup 15 20; t setab 4; t el; t op
t sc; t cup 20 40; printf there; t rc; printf back
t cup 19 0; t indn 2; t cup 0 40; t ri
t cup 21 0; t rep 120 20; t hpa 30; printf H; t vpa 22; printf V
t smir; t cup 1 0; printf INS; t rmir
t cup 16 0; printf 'a\tb\tc'; t cbt; printf Z
t hts; t cup 17 0; printf '\t1\t2'; t tbc
t cup 22 70; printf '0123456789wrapped over'
t civis; t cnorm; t cup 10 10
printf done
exec cat >/dev/null
