#!/bin/sh
# The simplest bot there is: a program that is started for every move. It reads the position and prints a legal move.
#
#     run      ggp bot oneshot -- sh bots/examples/one_move.sh
#     match    ggp match yugo "ggp bot oneshot -- sh bots/examples/one_move.sh" random
sed -n 's/^legal //p' | tr ' ' '\n' | shuf -n 1
