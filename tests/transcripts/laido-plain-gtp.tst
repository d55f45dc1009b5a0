# engine: laido
# What plain GTP's commands mean on a hexagon: boardsize is the width, komi is no part of it.
boardsize 8
#? [\? unacceptable size]

boardsize 27
#? [\? unacceptable size]

boardsize 5
#? []

ggp-status
#? [phase=play to_play=black seat=1 ply=0]

ggp-legal_moves
#? [A3 A4 A5 B2 B3 B4 B5 C1 C2 C3 C4 C5 D1 D2 D3 D4 E1 E2 E3]

komi 7.5
#? []

play b c3
#? []

play w c3
#? [\? illegal move: C3 is occupied]

play w E4
#? [\? illegal move: E4 is not on the board: a hexagon with 3 on a side]

play w i3
#? [\? illegal move: there is no column I: the letters skip it]

final_score
#? [W\+1]

clear_board
#? []

ggp-history
#? []

fixed_handicap 2
#? [\? unknown command]

known_command loadsgf
#? [false]

boardsize 3
#? []

showboard
#? [\n    A B\n 3 \. \. 3\n2 \. \. \. 2\n A \. \. 1\n  B C\nBlack to move \(seat 1\)]

ggp-new laido size=14
#? [\? size=14: size must be an integer of 2\.\.13]

ggp-new laido komi=7
#? [\? unknown option: komi; the options of laido are: size pie half_point]

ggp-options
#? [size int 9 2\.\.13\npie enum on on,off\nhalf_point enum final final,first]
