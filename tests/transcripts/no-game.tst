# engine:
# Nothing needs a game but what needs a game.
ggp-version
#? [1]

ggp-status
#? [\? no game: use ggp-new]

clear_board
#? [\? no game: use ggp-new]

known_command loadsgf
#? [true]

loadsgf x.sgf
#? [\? no game: use ggp-new]

ggp-new chess
#? [\? unknown game: chess; known games: [^\n]*yugo]

ggp-new yugo size=99
#? [\? size=99: size must be an integer of 2\.\.25]

ggp-status
#? [\? no game: use ggp-new]

ggp-new yugo size=3 handicap=2
#? [phase=play to_play=black seat=1 ply=0]

ggp-legal_moves
#? [A1 A2 A3 B1 B2 B3 C1 C2 C3]

ggp-play b B2
#? [move=B2 phase=play to_play=black seat=1 ply=1]

ggp-play w A1
#? [\? illegal move: it is black's turn]

ggp-play b button
#? [\? illegal move: handicap pawns come first: 1 left]

ggp-play b A1
#? [move=A1 phase=play to_play=white seat=2 ply=2]

ggp-play w C3
#? [move=C3 phase=play to_play=black seat=1 ply=3]

ggp-history
#? [1 black B2\n1 black A1\n2 white C3]

ggp-perft 2
#? [41]

ggp-playouts 10 1
#? [games=10 plies=[^\n]* seconds=[^\n]* black=[^\n]* white=[^\n]* draws=0]

known_command loadsgf
#? [false]
