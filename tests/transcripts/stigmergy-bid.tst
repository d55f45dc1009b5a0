# engine: stigmergy size=3
# Seat 1 bids, seat 2 takes a side; undo goes back through both. An odd komi brings the button.
ggp-options
#? [size int 8 2\.\.13\nkomi bid bid bid,\*]

ggp-status
#? [phase=bid to_play=black seat=1 ply=0]

ggp-play b C3
#? [\? illegal move: komi is not settled: bid an integer from 0 to 20, written like bid:7]

ggp-play w bid:5
#? [\? illegal move: it is black's turn]

ggp-play b bid:21
#? [\? illegal move: bid an integer from 0 to 20, written like bid:7]

ggp-legal_moves
#? [bid:0 bid:1 bid:10 bid:11 bid:12 bid:13 bid:14 bid:15 bid:16 bid:17 bid:18 bid:19 bid:2 bid:20 bid:3 bid:4 bid:5 bid:6 bid:7 bid:8 bid:9]

ggp-play b BID:5
#? [move=bid:5 phase=choose to_play=white seat=2 ply=1]

ggp-legal_moves
#? [keep-sides swap-sides]

ggp-play w C3
#? [\? illegal move: the bid is 5: answer swap-sides or keep-sides]

ggp-play w swap-sides
#? [move=swap-sides phase=play to_play=black seat=2 ply=2]

ggp-play b C3
#? [move=C3 phase=play to_play=white seat=1 ply=3]

ggp-history
#? [1 black bid:5\n2 white swap-sides\n2 black C3]

ggp-undo 2
#? [phase=choose to_play=white seat=2 ply=1]

ggp-play w keep-sides
#? [move=keep-sides phase=play to_play=black seat=1 ply=2]

ggp-play b bid:6
#? [\? illegal move: komi is settled: it is 5]

ggp-play b swap-sides
#? [\? illegal move: the sides are settled]

ggp-play b pass
#? [\? illegal move: the button must be taken before a pass]

ggp-play b button
#? [move=button phase=play to_play=white seat=2 ply=3]

ggp-play w button
#? [\? illegal move: the button is taken]

ggp-play w pass
#? [\? illegal move: A3 A4 A5 B2 B3 and 14 more are empty and uncontrolled: fill or control them before you pass]

final_score
#? [W\+4\.5]

ggp-score
#? [\{"black": \{"total": 0\.5, "stones": 0, "controlled": 0, "button": 0\.5\}, "white": \{"total": 5, "stones": 0, "controlled": 0, "button": 0, "komi": 5\}, "final": false\}]

ggp-undo 3
#? [phase=bid to_play=black seat=1 ply=0]

final_score
#? [0]
