# engine: go size=5 komi=0
1 ggp-hash
#? [bf660cbbf3f2fd5e]

2 komi -0
#? []

3 ggp-hash
#? [bf660cbbf3f2fd5e]

4 komi 6.00000000000000000000000000000000000000001
#? []

5 final_score
#? [W\+6]

6 komi 1e400
#? []

7 final_score
#? [W\+1000000]

8 komi -1e400
#? []

9 final_score
#? [B\+1000000]

10 komi inf
#? [\? syntax error: write komi NUMBER]

11 final_score
#? [B\+1000000]

12 quit
#? []
