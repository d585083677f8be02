import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Widget } from '@lumino/widgets';
import { events } from './events';
import type { TaskNode } from './wire';
import { RunView, type Picture } from './view/run';

const MIME = 'application/vnd.dagbook.view.v1+json';

interface Saved {
  event?: Picture;
  title?: string;
  nodes?: TaskNode[];
  note?: string;
}

/** A run in a cell's output: the saved picture at once, and the run itself while it goes, kernel or none. */
class CellView extends Widget implements IRenderMime.IRenderer {
  private view: RunView | null = null;
  private leave: (() => void) | null = null;

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const saved = model.data[MIME] as unknown as Saved;
    this.view ??= new RunView(this.node);
    if (!saved.event) {
      this.view.outline(saved.title ?? '', saved.nodes ?? [], saved.note ?? '');
      return;
    }
    this.view.update(saved.event);
    const { run } = saved.event.detail;
    this.leave?.();
    this.leave = run.end_date ? null : events.watchRun(run.dag_id, run.run_id, event => this.view?.update(event));
  }

  dispose(): void {
    this.leave?.();
    this.view?.dispose();
    super.dispose();
  }
}

const extension: IRenderMime.IExtension = {
  id: 'dagbook:view',
  description: 'Shows DAGs and their runs in cell outputs.',
  rendererFactory: { safe: true, mimeTypes: [MIME], createRenderer: () => new CellView() },
  // Before the widget of the same output, which needs a living kernel.
  rank: -20,
  dataType: 'json'
};

export default extension;
