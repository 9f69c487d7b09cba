/* Stands in for the tracer where only the launcher is tested: does nothing, and says that it worked. */
int InitializeInjection(void) { return 1; }
int InitializeInjectionNvtx2(void* get_export_table) { return get_export_table != 0; }
