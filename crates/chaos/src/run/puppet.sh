# The program of a session under attack: says who it is, then does what it is told, one order at a time.
# puppet TAG REPORTS ORDERS
exec 3<>"$3" 4>"$2"
n=0
echo "$1 born $$ $ABIDE_SESSION" >&4
while read -r order value <&3; do
    case $order in
    print)
        end=$((n + value))
        while [ $n -lt $end ]; do
            n=$((n + 1))
            echo "line $1 $n."
        done
        echo "$1 printed $n" >&4
        ;;
    exit) exit "$value" ;;
    die) kill "-$value" $$ ;;
    stubborn) trap '' HUP TERM INT ;;
    polite) trap 'exit 0' TERM ;;
    fork) sleep 600 3<&- 4>&- & ;;
    setsid) setsid sleep 600 </dev/null >/dev/null 2>&1 3<&- 4>&- & ;;
    close-terminal) exec </dev/null >/dev/null 2>&1 ;;
    become) exec sleep 600 ;;
    esac
done
