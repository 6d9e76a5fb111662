/* infer-quant/sample_text.c - the built-in text that types for a size are chosen by without -f. */
#include "quant.h"

__asm__(".pushsection .rodata.sample, \"a\", %progbits\n"
        "sample_first: .incbin \"cmd/infer-quant/sample.txt\"\n"
        "sample_last: .byte 0\n"
        ".popsection\n");
extern const char sample_first[] __attribute__((visibility("hidden")));
extern const char sample_last[] __attribute__((visibility("hidden")));

struct infer_str sample_text(void)
{
	return (struct infer_str){ sample_first, (size_t)(sample_last - sample_first) };
}
