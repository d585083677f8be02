import type { TaskNode } from './wire';
import { RunView, type Picture } from './view/run';

/** The part of anywidget's model that is used here. */
interface Model {
  get(name: string): unknown;
  on(name: string, act: () => void): void;
  off(name: string, act: () => void): void;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const view = new RunView(el);
  const draw = (): void => {
    const event = model.get('event') as Partial<Picture>;
    if (event.detail) {
      view.update(event as Picture);
    } else {
      view.outline(model.get('title') as string, model.get('nodes') as TaskNode[], model.get('error') as string);
    }
  };
  model.on('change:event', draw);
  draw();
  return () => {
    model.off('change:event', draw);
    view.dispose();
  };
}

export default { render };
