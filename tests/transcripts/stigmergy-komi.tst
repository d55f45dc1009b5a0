# engine: stigmergy size=2
# GTP's komi ends the bidding before the first ply; later it waits for the next board.
ggp-status
#? [phase=bid to_play=black seat=1 ply=0]

komi -2.9
#? []

ggp-status
#? [phase=play to_play=black seat=1 ply=0]

ggp-legal button
#? [false komi is even: there is no button]

play b B2
#? []

komi 7
#? []

ggp-legal button
#? [false komi is even: there is no button]

final_score
#? [B\+3]

clear_board
#? []

ggp-legal button
#? [true]

boardsize 4
#? [\? unacceptable size]

boardsize 5
#? []

ggp-status
#? [phase=play to_play=black seat=1 ply=0]

ggp-new stigmergy size=2
#? [phase=bid to_play=black seat=1 ply=0]

ggp-play b bid:4
#? [move=bid:4 phase=choose to_play=white seat=2 ply=1]

komi 7
#? []

ggp-play w keep-sides
#? [move=keep-sides phase=play to_play=black seat=1 ply=2]

ggp-legal button
#? [false komi is even: there is no button]

clear_board
#? []

ggp-legal button
#? [true]
