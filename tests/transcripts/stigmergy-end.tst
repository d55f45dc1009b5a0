# engine: stigmergy size=2 komi=0
# The smallest board of Stigmergy: White can only pass, then Black may replace, place or pass.
ggp-status
#? [phase=play to_play=black seat=1 ply=0]

play b B2
#? []

play w A2
#? []

play b C2
#? []

play w B1
#? []

play b A3
#? []

ggp-legal_moves
#? [pass]

ggp-play w B3
#? [\? illegal move: B3 is controlled by black]

ggp-play w B1
#? [\? illegal move: B1 holds your own stone]

ggp-play w C2
#? [\? illegal move: you do not control C2: it sees 0 of your stones and needs 2]

ggp-play w button
#? [\? illegal move: komi is even: there is no button]

final_score
#? [B\+3]

ggp-play w pass
#? [move=pass phase=play to_play=black seat=1 ply=6]

ggp-legal_moves
#? [A2 B3 C1 pass]

ggp-play b A2
#? [move=A2 phase=play to_play=white seat=2 ply=7]

gogui-rules_captured_count
#? [1 0]

ggp-undo
#? [phase=play to_play=black seat=1 ply=6]

ggp-play b pass
#? [move=pass phase=over to_play=none seat=0 ply=7 result=B\+3 winner=1]

ggp-play b A2
#? [\? illegal move: the game is over]

final_status_list alive
#? [A3\nA2\nB2\nC2\nB1]

clear_board
#? []

komi 3
#? []

gogui-play_sequence b B2 w A2 b C2 w B1 b A3
#? []

ggp-legal_moves
#? [button]

ggp-play w button
#? [move=button phase=play to_play=black seat=1 ply=6]

ggp-play b pass
#? [move=pass phase=play to_play=white seat=2 ply=7]

ggp-play w pass
#? [move=pass phase=over to_play=none seat=0 ply=8 result=W\+0\.5 winner=2]
