# The pages of the site, for tools/site.R and tools/site_check.R.

folder <- "site"
pages <- function() list.files(folder, "\\.html$", recursive = TRUE, full.names = TRUE)
outside <- function(link) grepl("^([a-z]+:|//)", link)

# Finds scripts and styles from a network.
network_parts <- paste("//script[starts-with(@src, 'http')] | //script[starts-with(@src, '//')]",
                       "//link[@rel = 'stylesheet'][starts-with(@href, 'http')]", sep = " | ")
