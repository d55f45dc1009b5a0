# engine: go size=5 komi=0.5
# A ko under the three rules: positional and situational forbid the recapture, so does simple.
gogui-play_sequence b B1 w C1 b A2 w D2 b B3 w C3 b C2 w B2
#? []

showboard
#? [\n  A B C D E\n5 \. \. \. \. \. 5\n4 \. \. \. \. \. 4\n3 \. X O \. \. 3\n2 X\(O\)\. O \. 2\n1 \. X O \. \. 1\n  A B C D E\nX black stone, O white stone\nBlack has captured 0\nWhite has captured 1\nKomi: 0\.5\nBlack to move \(seat 1\)]

ggp-legal C2
#? [false positional superko: the board stood like this after ply 7]

play b C2
#? [\? illegal move: positional superko: the board stood like this after ply 7]

gogui-rules_captured_count
#? [0 1]

ggp-new go size=5 komi=0.5 ko=simple
#? [phase=play to_play=black seat=1 ply=0]

gogui-play_sequence b B1 w C1 b A2 w D2 b B3 w C3 b C2 w B2
#? []

ggp-legal C2
#? [false ko: this would recreate the board before the opponent's last move]

gogui-play_sequence b E5 w E4
#? []

ggp-legal C2
#? [true]

ggp-play b C2
#? [move=C2 phase=play to_play=white seat=2 ply=11]

ggp-legal B2
#? [false ko: this would recreate the board before the opponent's last move]
