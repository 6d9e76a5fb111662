/* Formats of model files, tried in this order.  No guard: included once per use of FORMAT(). */
FORMAT(gguf)
FORMAT(zst)
#ifdef FORMAT_OF_TEST /* added by a test in its own build of file.c */
FORMAT_OF_TEST
#endif
FORMAT(hf) /* libcore/hf: any directory */
