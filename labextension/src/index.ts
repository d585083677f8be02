import { type JupyterFrontEnd, type JupyterFrontEndPlugin, ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette, MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { LabIcon } from '@jupyterlab/ui-components';
import { DagView } from './dag';
import { DagsPanel } from './panel';

const icon = new LabIcon({
  name: 'dagbook:icon',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><g class="jp-icon3" fill="#616161">' +
    '<path d="M7 7.2 16.6 5.4 16.8 6.6 7.2 8.4zM7.2 15.6 16.8 17.4 16.6 18.6 7 16.8z"/>' +
    '<rect x="2" y="4.5" width="6" height="6" rx="1.5"/><rect x="2" y="13.5" width="6" height="6" rx="1.5"/>' +
    '<circle cx="19" cy="6" r="3"/><circle cx="19" cy="18" r="3"/></g></svg>'
});

function activate(app: JupyterFrontEnd, palette: ICommandPalette | null, restorer: ILayoutRestorer | null): void {
  const tracker = new WidgetTracker<MainAreaWidget<DagView>>({ namespace: 'dagbook' });
  const open = (dagId: string): void => {
    const there = tracker.find(widget => widget.id === `dagbook-${dagId}`);
    const widget: MainAreaWidget<DagView> = there ?? new MainAreaWidget<DagView>({ content: new DagView(dagId) });
    if (!there) {
      widget.id = `dagbook-${dagId}`;
      widget.title.label = dagId;
      widget.title.icon = icon;
      widget.title.caption = `DAG ${dagId}`;
      void tracker.add(widget);
      app.shell.add(widget, 'main');
    }
    app.shell.activateById(widget.id);
  };
  app.commands.addCommand('dagbook:open', {
    label: args => (args['dag'] ? `Open DAG ${args['dag']}` : 'Open DAG'),
    describedBy: { args: { type: 'object', properties: { dag: { type: 'string' } }, required: ['dag'] } },
    execute: args => open(String(args['dag']))
  });
  const panel = new DagsPanel(open);
  panel.id = 'dagbook-panel';
  panel.title.icon = icon;
  panel.title.caption = 'DAGs';
  app.shell.add(panel, 'left', { rank: 600 });
  app.commands.addCommand('dagbook:show', {
    label: 'Show DAGs',
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => app.shell.activateById(panel.id)
  });
  palette?.addItem({ command: 'dagbook:show', category: 'Dagbook' });
  restorer?.add(panel, 'dagbook-panel');
  void restorer?.restore(tracker, {
    command: 'dagbook:open',
    args: widget => ({ dag: widget.title.label }),
    name: widget => widget.title.label
  });
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'dagbook:plugin',
  description: 'DAGs, their runs and their graphs.',
  autoStart: true,
  optional: [ICommandPalette, ILayoutRestorer],
  activate
};

export default plugin;
