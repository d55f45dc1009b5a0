#!/bin/sh
# A whole bot in one file of POSIX shell: it plays any legal move, in every game that an engine knows.
#
#     run      sh bots/examples/legal_bot.sh ggp engine
#     match    ggp match yugo "sh bots/examples/legal_bot.sh" random
#
# It starts the engine of the command line (without one: ggp engine) and keeps no board of its own: it
# passes on what it receives, and draws one of the moves that the engine lists. Replace `choose` by something better.

set -f          # no word is a pattern of file names
LC_ALL=C        # bytes are characters
IFS=' '
commands='genmove
ggp-games
ggp-new
known_command
list_commands
name
play
protocol_version
quit
version'

# One of the legal moves, in $move: points, but also pass, swap-sides, bid:7 or dead: where the game asks for that.
choose() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    shift $((seed / 65536 % $#))
    move=$1
}

# One question to the engine: its mark, = or ?, in $mark, and the text of its answer, which an empty line ends, in $text.
ask() {
    printf '%s\n' "$*" >&3
    IFS= read -r text <&4 || { echo 'the engine ended' >&2; exit 1; }
    while IFS= read -r line <&4 && [ "$line" ]; do
        text=$text'
'$line
    done
    mark=${text%"${text#?}"}
    text=${text#?}
    text=${text# }
}

genmove() {
    ask ggp-legal_moves
    [ "$mark" = '=' ] || return
    if [ ! "$text" ]; then text=pass; return; fi    # the game is over
    choose $text
    ask ggp-play "$@" "$move"                       # our own move is not sent to us
    [ "$mark" = '?' ] || text=$move
}

is_known() {
    case "
$commands
" in *"
$1
"*) return 0 ;; esac
    return 1
}

# A command: the mark of the answer in $mark, its text in $text.
obey() {
    mark='=' text=
    name=$1
    shift
    case $name in
    name) text='Legal bot in POSIX shell' ;;
    version) text=1 ;;
    protocol_version) text=2 ;;
    list_commands) text=$commands ;;
    known_command) if is_known "$1"; then text=true; else text=false; fi ;;
    quit) ;;
    genmove) genmove "$@" ;;
    ggp-games) ask ggp-games ;;
    ggp-new) ask ggp-new "$@"; [ "$mark" = '?' ] || text= ;;
    play) ask ggp-play "$@"; [ "$mark" = '?' ] || text= ;;
    *) mark='?' text='unknown command' ;;
    esac
}

# Whether the first of the words is an id: digits, 0 to 2147483647, and something behind them.
has_id() {
    case $1 in *[!0-9]*) return 1 ;; esac
    [ $# -gt 1 ] && [ ${#1} -le 10 ] && [ "$1" -le 2147483647 ]
}

# The engine is behind two named pipes; it ends when its input does, so it never outlives the bot.
[ $# -gt 0 ] || set -- ggp engine
seed=$(od -An -N2 -tu2 /dev/urandom)
folder=$(mktemp -d) && mkfifo "$folder/to" "$folder/from" || exit 1
"$@" <"$folder/to" >"$folder/from" &
exec 3>"$folder/to" 4<"$folder/from"
rm -r "$folder"

while IFS= read -r line; do
    id= mark='?' text='line too long' name=
    if [ ${#line} -le 65536 ]; then
        case $line in *[[:cntrl:]]*) line=$(printf %s "$line" | tr '\t' ' ' | tr -d '\000-\037\177') ;; esac
        set -- ${line%%#*}
        if has_id "$@"; then id=$1; shift; fi
        [ $# -gt 0 ] || continue
        obey "$@"
    fi
    printf '%s\n\n' "$mark$id${text:+ $text}"
    [ "$name" != quit ] || break
done
exec 3>&-
wait
