# A suite of GNU Go's own shape: numbered commands are tests, the others set the board up.
# Run it in this folder, as its scripts do: the records are in games/.

loadsgf games/ladder.sgf
# White E6 has one liberty left.
10 countlib E6
#? [1]
20 attack E6
#? [1 F6]
# It runs, and the stone at G7 breaks the ladder.
30 defend E6
#? [1 F6|0]&
40 color E5
#? [black]
# Nobody plays the first line now.
50 all_legal white
#? [.*A1.*]
60 is_legal white E5
#? [!1]

loadsgf games/ladder.sgf 3
70 color E7
#? [empty]
80 showboard
#? [.*White \(O\) has captured 0 stones.*|.*WHITE \(O\) has captured 0 stones.*]

# Known not to work: there is no such game.
90 estimate_score
#? [W\+0\.0]*
100 reset_reading_node_counter
#? []
110 get_reading_node_counter
#? [0]
