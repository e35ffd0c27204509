/** Numbers of attempts repeat after a rerun; with its epoch the name is unique. */
export const nameOf = ({ attempt, epoch }: { attempt: number; epoch: number }) => `${attempt}-${epoch}`;
