/* lora/lora.h - the adapter of infer/lora.h as the backends take it. */
#ifndef LORA_LORA_H
#define LORA_LORA_H
#include <infer/lora.h>
#include "backend/adapter.h"

/* Return the changes by weight of the model; borrowed from l. */
const struct backend_adapter *lora_adapter(const infer_lora *l);
#endif
