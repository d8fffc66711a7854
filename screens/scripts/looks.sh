# Every form of SGR, links, and erasures in a colour.
stty -opost
for i in 1 2 3 4 5 7 8 9 21 53; do printf '\e[%dmSGR%d\e[0m ' $i $i; done; printf '\r\n'
for i in 0 1 2 3 4 5; do printf '\e[4:%dm4:%d\e[0m ' $i $i; done; printf '\e[4;58:5:9mred\e[59mplain\e[0m \e[4:3;58:2::0:128:255mblue\e[0m \e[4;58;2;1;2;3mrgb\e[0m\r\n'
for i in $(seq 0 15); do printf '\e[48;5;%dm  ' $i; done; printf '\e[0m'; for i in $(seq 30 37) $(seq 90 97); do printf '\e[%dm%d' $i $i; done; printf '\e[0m\r\n'
for i in $(seq 16 87); do printf '\e[48;5;%dm ' $i; done; printf '\e[0m\r\n'
for i in $(seq 0 79); do printf '\e[38:2::%d:%d:%dm█' $((i*3)) $((255-i*3)) 128; done; printf '\e[0m\r\n'
for i in $(seq 0 78); do printf '\e[48;2;%d;%d;%dm ' $((i*3)) 64 $((255-i*3)); done; printf '\e[0m\r\n'
printf '\e[1;31;42mbold\e[22;39mno\e[49m \e[38;5;1;48;5;7m256\e[m \e[38:5:200m:5\e[39m \e[38;5mbad\e[38;2;300;1;1mworse\e[0m\e[1;;4mempty\e[0m\r\n'
printf '\e]8;;https://example.org/\e\\link\e]8;;\e\\ \e]8;id=x;https://example.org/2\aother\e]8;;\a\r\n'
printf '\e[44mbce\e[K\r\n\e[42m\e[2Xech\e[3@ich\e[0m\r\n'
printf '\e[7minverse \e[K\e[27mnot\e[0m\r\n'
printf '\e[41m\e[2;20r\e[20;1Hscroll\n\n\e[r\e[0m\e[14;1H'
printf 'tab\tat\t\e[42m\tcolour\e[0m\r\n'
printf '\e(0lqqk\e(B \e)0\x0etqqu\x0f \e*0\e(0mqqj\e(B\r\n'
printf '\e[38;5;208mREP-\e[20b\e[0m\r\n'
printf done
exec cat >/dev/null
