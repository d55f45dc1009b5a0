# engine: laido size=2
# A whole game, scored at every turn; stones are never taken, and the seats have kept their colours.
final_score
#? [0]

play b C2
#? []

final_score
#? [W\+1]

play w A2
#? []

final_score
#? [0]

play b B2
#? []

play w B1
#? []

play b A3
#? []

final_score
#? [B\+1]

ggp-score
#? [\{"black": \{"total": null, "half_point": 0, "groups": \[3\]\}, "white": \{"total": null, "half_point": 0, "groups": \[2\]\}, "final": false\}]

final_status_list alive
#? [A3 B2 C2\nA2 B1]

final_status_list dead
#? []

play w pass
#? []

showboard
#? [\n    A B\n 3 X \. 3\n2 O X X 2\n A O \. 1\n  B C\nX black stone, O white stone\nWhite has the half point\nBlack to move \(seat 1\)]

play b pass
#? []

final_score
#? [B\+1]

ggp-status
#? [phase=over to_play=none seat=0 ply=7 result=B\+1 winner=1]

ggp-score
#? [\{"black": \{"total": null, "half_point": 0, "groups": \[3\]\}, "white": \{"total": null, "half_point": 0\.5, "groups": \[2\]\}, "final": true\}]

ggp-legal_moves
#? []

play w C1
#? [\? illegal move: the game is over]

undo
#? []

ggp-play b C1
#? [move=C1 phase=play to_play=white seat=2 ply=7]

ggp-status
#? [phase=play to_play=white seat=2 ply=7]

showboard
#? [\n    A B\n 3 X \. 3\n2 O X X 2\n A O\(X\)1\n  B C\nX black stone, O white stone\nWhite to move \(seat 2\)]
