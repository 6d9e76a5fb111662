/* demo/demo.h - the built-in model, as bytes. */
#ifndef DEMO_DEMO_H
#define DEMO_DEMO_H
#include <stddef.h>

#define DEMO_NAME "demo" /* as a model reference; a file of that name is ./demo */

/* A GGUF file in read-only memory, 4096-aligned, used in place.  Any thread. */
const void *demo_get(size_t *bytes);
#endif
