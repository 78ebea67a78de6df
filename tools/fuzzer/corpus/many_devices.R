# A range of GPU numbers was expanded before it was checked: 745 GB.
refuses(with_kernops(1, device = "0:99999999999"))
