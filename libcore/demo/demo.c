/* demo/demo.c - the built-in model, page-aligned in .rodata, so that it is used in place like a
 * mapped file.  scripts/train-demo.py made it; the F32 model that it was quantised from
 * (demo-f32.gguf, 14721088 bytes, not in the tree) has the SHA-256
 * 96bc8fbc480c601fb1d3d5875d69fedd58d739f9ddf4fff5a009e18ffc9527ae. */
#include "demo/demo.h"

__asm__(".pushsection .rodata.demo, \"a\", %progbits\n"
        ".balign 4096\n"
        "demo_first: .incbin \"libcore/demo/demo.gguf\"\n"
        "demo_last: .byte 0\n"
        ".popsection\n");
extern const unsigned char demo_first[] __attribute__((visibility("hidden")));
extern const unsigned char demo_last[] __attribute__((visibility("hidden")));

const void *demo_get(size_t *bytes)
{
	*bytes = (size_t)(demo_last - demo_first);
	return demo_first;
}
