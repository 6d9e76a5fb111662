/* type/nf4.h - the value table of NF4. */
#ifndef TYPE_NF4_H
#define TYPE_NF4_H

extern const float nf4_table[16];
#endif
