# engine: yugo size=4 agreement=on komi=0
# Lists that differ send the players back to the board; the next double pass ends the game without removals.
gogui-play_sequence b B2 w D4 b button
#? []

ggp-play w pass
#? [move=pass phase=play to_play=black seat=1 ply=4]

ggp-play b pass
#? [move=pass phase=agree to_play=white seat=2 ply=5]

ggp-legal_moves
#? [dead:]

ggp-play w dead:A1
#? [\? illegal move: A1 is empty: name a stone of a dead group]

ggp-play w dead:D4,D4
#? [\? illegal move: D4 is named twice]

ggp-play w resign
#? [\? illegal move: resign is an answer to genmove, not a move]

ggp-play w C3
#? [\? illegal move: both sides have passed: answer dead: with the points of dead groups, or dead: alone for none]

ggp-play w dead:
#? [move=dead: phase=agree to_play=black seat=1 ply=6]

ggp-play b DEAD:d4
#? [move=dead:D4 phase=play to_play=white seat=2 ply=7]

ggp-status
#? [phase=play to_play=white seat=2 ply=7]

ggp-undo 2
#? [phase=agree to_play=white seat=2 ply=5]

ggp-play w dead:d4
#? [move=dead:D4 phase=agree to_play=black seat=1 ply=6]

ggp-play b dead:D4
#? [move=dead:D4 phase=over to_play=none seat=0 ply=7 result=B\+16\.5 winner=1]

final_status_list dead
#? [D4]

final_status_list alive
#? [B2]

final_score
#? [B\+16\.5]

ggp-undo
#? [phase=agree to_play=black seat=1 ply=6]

ggp-play b dead:
#? [move=dead: phase=play to_play=white seat=2 ply=7]

ggp-play b A1
#? [\? illegal move: it is white's turn]

ggp-play w pass
#? [move=pass phase=play to_play=black seat=1 ply=8]

ggp-play b pass
#? [move=pass phase=over to_play=none seat=0 ply=9 result=B\+0\.5 winner=1]

final_status_list dead
#? []

final_score
#? [B\+0\.5]

showboard
#? [\n  A B C D\n4 \. \. \. O 4\n3 \. \. \. \. 3\n2 \. X \. \. 2\n1 \. \. \. \. 1\n  A B C D\nX black pawn, O white pawn\nBlack has captured 0\nWhite has captured 0\nBlack has the button\nKomi: 0\nGame over: B\+0\.5]
