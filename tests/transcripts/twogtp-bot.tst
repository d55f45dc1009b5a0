# bot: random
# What gogui-twogtp says to a player: as to a referee, and genmove where it is its turn. It asks for cputime only
# who lists it; with its option -time it sends time_settings after komi to who lists that.
protocol_version
#? [2]
name
#? [random]
version
#? [.+]
list_commands
#? [(.+\n)*genmove(\n.+)*]
boardsize 9
#? []
clear_board
#? []
komi 6.5
#? []
time_settings 600 30 5
#? []
genmove b
#? [[A-HJ][1-9]|pass]
play W E5
#? [.*]&
genmove b
#? [[A-HJ][1-9]|pass]
final_score
#? [.*]&
boardsize 9
#? []
clear_board
#? []
komi 6.5
#? []
quit
#? []
