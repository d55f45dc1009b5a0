# engine: laido size=2
# The first stone, the swap, what it makes of seats and colours, and taking it back.
ggp-status
#? [phase=play to_play=black seat=1 ply=0]

ggp-play b pass
#? [\? illegal move: the first ply is a black stone: it may be swapped and cannot be passed]

ggp-play b swap-sides
#? [\? illegal move: sides are swapped by seat 2, after the first stone]

ggp-play w B2
#? [\? illegal move: it is black's turn]

play B b2
#? []

ggp-legal_moves
#? [A2 A3 B1 B3 C1 C2 pass swap-sides]

ggp-play b swap-sides
#? [\? illegal move: it is white's turn]

ggp-play W Swap-Sides
#? [move=swap-sides phase=play to_play=white seat=1 ply=2]

ggp-history
#? [1 black B2\n2 white swap-sides]

showboard
#? [\n    A B\n 3 \. \. 3\n2 \. X \. 2\n A \. \. 1\n  B C\nX black stone\nWhite to move \(seat 1\)]

ggp-play w swap-sides
#? [\? illegal move: sides could be swapped only right after the first stone]

ggp-play b A2
#? [\? illegal move: it is white's turn]

ggp-play w A2
#? [move=A2 phase=play to_play=black seat=2 ply=3]

ggp-undo
#? [phase=play to_play=white seat=1 ply=2]

undo
#? []

ggp-status
#? [phase=play to_play=white seat=2 ply=1]

ggp-legal swap-sides
#? [true]

showboard
#? [\n    A B\n 3 \. \. 3\n2 \.\(X\)\. 2\n A \. \. 1\n  B C\nX black stone\nWhite to move \(seat 2\)]

play w swap-sides
#? []

ggp-hash
#? [[^\n]*]

undo
#? []

ggp-hash
#? [[^\n]*]

play w pass
#? []

ggp-legal swap-sides
#? [false sides could be swapped only right after the first stone]

ggp-undo 2
#? [phase=play to_play=black seat=1 ply=0]

ggp-status
#? [phase=play to_play=black seat=1 ply=0]

undo
#? [\? cannot undo]

ggp-new laido size=2 pie=off
#? [phase=play to_play=black seat=1 ply=0]

ggp-legal_moves
#? [A2 A3 B1 B2 B3 C1 C2 pass]

play b B2
#? []

play w swap-sides
#? [\? illegal move: sides cannot be swapped: the game is played with pie=off]

ggp-legal_moves
#? [A2 A3 B1 B3 C1 C2 pass]
