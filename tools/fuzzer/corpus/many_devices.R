# A range of GPU numbers was expanded to a vector of 745 GB before the range was checked.
refuses(with_kernops(1, device = "0:99999999999"))
