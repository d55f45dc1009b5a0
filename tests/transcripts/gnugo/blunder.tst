# One stone in atari: take it, or lose the corner.
boardsize 9
clear_board
komi 5.5
play black C3
play white D3
play black D4
play white C4
play black E3
play white C2
10 countlib D3
#? [1]
20 attack D3
#? [1 D2]
30 genmove black
#? [!PASS|resign]
undo
40 captures black
#? [0]
