# one_hot() of words, lists and functions ended in an error of R's arithmetic.
refuses(one_hot("a", 3)) && refuses(one_hot(list(), 3)) && refuses(one_hot(sum, 3))
