/** Compares, claims nothing. */
export interface Shadow {
  compare(): Promise<void>;
}
