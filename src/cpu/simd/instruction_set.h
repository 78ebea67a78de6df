// The name of an instruction set, as part of an identifier and as text.
#pragma once
#define KERNOPS_JOIN_(a, b) a##b
#define KERNOPS_JOIN(a, b) KERNOPS_JOIN_(a, b)
#define KERNOPS_TEXT_(a) #a
#define KERNOPS_TEXT(a) KERNOPS_TEXT_(a)
