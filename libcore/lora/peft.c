/* lora/peft.c - adapters as directories of Hugging Face PEFT. */
#include "lora/inner.h"
#include "base/err.h"

int lora_read_peft(infer_lora *l, infer_error *err)
{
	return err_set(err, INFER_EUNSUP, "%s: a directory: only adapters in GGUF are read",
	               file_label(l->info.path));
}
