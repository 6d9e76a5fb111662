/* demo/demo.h - the built-in model, as bytes. */
#ifndef DEMO_DEMO_H
#define DEMO_DEMO_H
#include <stddef.h>

#define DEMO_NAME "demo" /* name as a model reference; a file of this name is "./demo" */

/* Return the bytes of a GGUF file in read-only memory, 4096-aligned, used in place.  Any thread. */
const void *demo_get(size_t *bytes);
#endif
