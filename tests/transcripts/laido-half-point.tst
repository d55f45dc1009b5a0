# engine: laido size=2 half_point=first
# All values equal: the first pass of the whole game decides, and White's seat after a swap is seat 1.
play b A2
#? []

play w swap-sides
#? []

play w C2
#? []

final_score
#? [0]

play b pass
#? []

final_score
#? [B\+0\.5]

play w C1
#? []

play b A3
#? []

final_score
#? [B\+0\.5]

showboard
#? [\n    A B\n 3\(X\)\. 3\n2 X \. O 2\n A \. O 1\n  B C\nX black stone, O white stone\nBlack has the half point\nWhite to move \(seat 1\)]

play w pass
#? []

play b pass
#? []

ggp-status
#? [phase=over to_play=none seat=0 ply=8 result=B\+0\.5 winner=2]

final_score
#? [B\+0\.5]

ggp-new laido size=2 half_point=final
#? [phase=play to_play=black seat=1 ply=0]

gogui-play_sequence b A2 w swap-sides w C2 b pass w C1 b A3
#? []

final_score
#? [0]

ggp-play w pass
#? [move=pass phase=play to_play=black seat=2 ply=7]

ggp-play b pass
#? [move=pass phase=over to_play=none seat=0 ply=8 result=W\+0\.5 winner=1]
